// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/shims/nvidia_smi/standin/print.hpp"

#include <fmt/format.h>

#include <functional>
#include <map>

namespace genv::standin {

namespace {

struct Cell {
    std::string value;
    std::string unit;
};

Cell text(const std::string& value) {
    return {value, ""};
}

Cell inMib(std::optional<std::uint64_t> bytes) {
    return bytes ? Cell{std::to_string(mib(*bytes)), "MiB"} : Cell{"[N/A]", ""};
}

Cell reading(std::optional<unsigned> value, const char* unit) {
    return value ? Cell{std::to_string(*value), unit} : Cell{"[N/A]", ""};
}

Cell memory(const Gpu& gpu, std::uint64_t Memory::*which) {
    return gpu.memory ? inMib((*gpu.memory).*which) : inMib(std::nullopt);
}

using GpuField = std::function<Cell(const Gpu&, const Machine&)>;

const std::map<std::string, std::pair<const char*, GpuField>>& gpuFields() {
    static const std::map<std::string, std::pair<const char*, GpuField>> fields{
        {"index", {"", [](auto& g, auto&) { return text(std::to_string(g.index)); }}},
        {"uuid", {"", [](auto& g, auto&) { return text(g.uuid); }}},
        {"gpu_uuid", {"", [](auto& g, auto&) { return text(g.uuid); }}},
        {"name", {"", [](auto& g, auto&) { return text(g.name); }}},
        {"serial", {"", [](auto&, auto&) { return text("[N/A]"); }}},
        {"pci.bus_id", {"", [](auto& g, auto&) { return text(g.busId); }}},
        {"driver_version", {"", [](auto&, auto& m) { return text(m.driver); }}},
        {"count", {"", [](auto&, auto& m) { return text(std::to_string(m.count)); }}},
        {"memory.total", {" [MiB]", [](auto& g, auto&) { return memory(g, &Memory::total); }}},
        {"memory.used", {" [MiB]", [](auto& g, auto&) { return memory(g, &Memory::used); }}},
        {"memory.free", {" [MiB]", [](auto& g, auto&) { return memory(g, &Memory::free); }}},
        {"memory.reserved",
         {" [MiB]",
          [](auto& g, auto&) {
              return g.memory ? inMib(g.memory->reserved) : inMib(std::nullopt);
          }}},
        {"utilization.gpu", {" [%]", [](auto& g, auto&) { return reading(g.utilization, "%"); }}},
        {"temperature.gpu", {"", [](auto& g, auto&) { return reading(g.temperature, ""); }}},
    };
    return fields;
}

using ProcessField = std::function<Cell(const Process&, const Gpu&)>;

const std::map<std::string, std::pair<const char*, ProcessField>>& processFields() {
    static const std::map<std::string, std::pair<const char*, ProcessField>> fields{
        {"gpu_uuid", {"", [](auto&, auto& g) { return text(g.uuid); }}},
        {"gpu_name", {"", [](auto&, auto& g) { return text(g.name); }}},
        {"gpu_bus_id", {"", [](auto&, auto& g) { return text(g.busId); }}},
        {"pid", {"", [](auto& p, auto&) { return text(std::to_string(p.pid)); }}},
        {"process_name", {"", [](auto& p, auto&) { return text(p.name); }}},
        {"name", {"", [](auto& p, auto&) { return text(p.name); }}},
        {"used_memory", {" [MiB]", [](auto& p, auto&) { return inMib(p.used); }}},
        {"used_gpu_memory", {" [MiB]", [](auto& p, auto&) { return inMib(p.used); }}},
    };
    return fields;
}

template <typename Fields>
bool areValid(const Fields& fields, const CsvOptions& options) {
    for (const std::string& field : options.fields) {
        if (fields.count(field) == 0) {
            fmt::print("Field \"{}\" is not a valid field to query.\n\n", field);
            return false;
        }
    }
    return true;
}

template <typename Fields>
void printHeader(const Fields& fields, const CsvOptions& options) {
    if (options.noHeader)
        return;
    std::string line;
    for (const std::string& field : options.fields)
        line += (line.empty() ? "" : ", ") + field + fields.at(field).first;
    fmt::print("{}\n", line);
}

template <typename Fields, typename... Row>
void printRow(const Fields& fields, const CsvOptions& options, const Row&... row) {
    std::string line;
    for (const std::string& field : options.fields) {
        const Cell cell = fields.at(field).second(row...);
        line += line.empty() ? "" : ", ";
        line += cell.value;
        if (!cell.unit.empty() && !options.noUnits)
            (line += ' ') += cell.unit;
    }
    fmt::print("{}\n", line);
}

std::string column(std::optional<unsigned> value) {
    return value ? std::to_string(*value) : "-";
}

} // namespace

void printList(const Machine& machine) {
    for (const Gpu& gpu : machine.gpus) {
        fmt::print("GPU {}: {} (UUID: {})\n", gpu.index, gpu.name, gpu.uuid);
        for (const Instance& instance : gpu.instances)
            fmt::print("  {:<15} Device {:>2}: (UUID: {})\n", instance.name, instance.number,
                       instance.uuid);
    }
}

bool printGpuCsv(const Machine& machine, const CsvOptions& options) {
    if (!areValid(gpuFields(), options))
        return false;
    printHeader(gpuFields(), options);
    for (const Gpu& gpu : machine.gpus)
        printRow(gpuFields(), options, gpu, machine);
    return true;
}

bool printProcessCsv(const Machine& machine, const CsvOptions& options) {
    if (!areValid(processFields(), options))
        return false;
    printHeader(processFields(), options);
    for (const Gpu& gpu : machine.gpus) {
        for (const Process& process : gpu.processes)
            printRow(processFields(), options, process, gpu);
    }
    return true;
}

void printProcessMonitor(const Machine& machine, bool isFirst) {
    if (isFirst)
        fmt::print("# gpu         pid  type     sm    mem    enc    dec    command\n"
                   "# Idx           #   C/G      %      %      %      %    name\n");
    for (const Gpu& gpu : machine.gpus) {
        if (gpu.processes.empty())
            fmt::print("{:>5} {:>11} {:>5} {:>6} {:>6} {:>6} {:>6}    {:<15}\n", gpu.index, "-",
                       "-", "-", "-", "-", "-", "-");
        for (const Process& process : gpu.processes)
            fmt::print("{:>5} {:>11} {:>5} {:>6} {:>6} {:>6} {:>6}    {:<15}\n", gpu.index,
                       process.pid, process.type, "-", "-", "-", "-", process.name.substr(0, 15));
    }
}

void printDeviceMonitor(const Machine& machine, bool isFirst) {
    if (isFirst)
        fmt::print("# gpu    pwr  gtemp     sm     fb   bar1 \n"
                   "# Idx      W      C      %     MB     MB \n");
    for (const Gpu& gpu : machine.gpus) {
        const std::string used =
            gpu.memory ? std::to_string(mib(gpu.memory->used)) : std::string("-");
        fmt::print("{:>5} {:>6} {:>6} {:>6} {:>6} {:>6} \n", gpu.index,
                   gpu.power ? std::to_string(*gpu.power / 1000) : "-", column(gpu.temperature),
                   column(gpu.utilization), used, 1);
    }
}

} // namespace genv::standin
