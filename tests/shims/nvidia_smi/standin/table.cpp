// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/shims/nvidia_smi/standin/print.hpp"

#include <fmt/format.h>

#include <string>

namespace genv::standin {

namespace {

struct Widths {
    int gpu;
    int bus;
    int rest;
    int instanceMemory;
    int name; // of a process
    [[nodiscard]] int all() const { return gpu + bus + rest + 2; }
};

Widths widthsOf(int layout) {
    return layout >= 550   ? Widths{41, 24, 22, 34, 41}
           : layout >= 535 ? Widths{41, 22, 22, 32, 39}
                           : Widths{31, 22, 22, 22, 29};
}

std::string dashes(int count, char kind = '-') {
    return std::string(static_cast<std::size_t>(count), kind);
}

void printBorder(const Widths& w) {
    fmt::print("+{}+{}+{}+\n", dashes(w.gpu), dashes(w.bus), dashes(w.rest));
}

void printHead(const Machine& machine, const Widths& w, int layout) {
    fmt::print("Sat Nov 21 20:00:00 2026       \n+{}+\n", dashes(w.all()));
    fmt::print("|{:<{}}|\n",
               fmt::format(" NVIDIA-SMI {:<10} Driver Version: {:<12} CUDA Version: {}",
                           machine.driver, machine.driver, machine.cuda),
               w.all());
    fmt::print("|{}+{}+{}+\n", dashes(w.gpu), dashes(w.bus), dashes(w.rest));
    fmt::print("|{:<{}}|{:<{}}|{:<{}}|\n", " GPU  Name", w.gpu, " Bus-Id        Disp.A", w.bus,
               " Volatile Uncorr. ECC", w.rest);
    fmt::print("|{:<{}}|{:>{}} |{:<{}}|\n", " Fan  Temp  Perf  Pwr:Usage/Cap", w.gpu,
               "Memory-Usage", w.bus - 1, " GPU-Util  Compute M.", w.rest);
    if (layout >= 450)
        fmt::print("|{:<{}}|{:<{}}|{:>{}} |\n", "", w.gpu, "", w.bus, "MIG M.", w.rest - 1);
    fmt::print("|{}+{}+{}|\n", dashes(w.gpu, '='), dashes(w.bus, '='), dashes(w.rest, '='));
}

std::string usage(const std::optional<Memory>& memory, int layout) {
    if (!memory)
        return "N/A";
    if (layout >= 550)
        return fmt::format("{:>7}MiB / {:>6}MiB", mib(memory->used), mib(memory->total));
    return fmt::format("{:>6}MiB / {:>5}MiB", mib(memory->used), mib(memory->total));
}

void printGpu(const Gpu& gpu, const Widths& w, int layout) {
    const auto percent = gpu.utilization ? fmt::format("{}%", *gpu.utilization) : "N/A";
    fmt::print("|{:<{}}|{:>{}} |{:>{}} |\n",
               fmt::format(" {:>3}  {:<{}}  On", gpu.index, gpu.name.substr(0, 18), w.gpu - 12),
               w.gpu, gpu.busId + " Off", w.bus - 1, "0", w.rest - 1);
    fmt::print("|{:<{}}|{:>{}} |{:>{}} |\n",
               fmt::format(" N/A  {:>3}C    P0   {:>3}W / 400W", gpu.temperature.value_or(0),
                           gpu.power.value_or(0) / 1000),
               w.gpu, usage(gpu.memory, layout), w.bus - 1, percent + "      Default", w.rest - 1);
    if (layout >= 450)
        fmt::print("|{:<{}}|{:<{}}|{:>{}} |\n", "", w.gpu, "", w.bus, gpu.isMig ? "Enabled" : "N/A",
                   w.rest - 1);
    printBorder(w);
}

void printInstances(const Machine& machine, const Widths& w, int layout) {
    const std::string border = fmt::format("+{}+{}+{}+{}+\n", dashes(18), dashes(w.instanceMemory),
                                           dashes(11), dashes(23));
    bool hasHead = false;
    for (const Gpu& gpu : machine.gpus) {
        if (gpu.isMig && !hasHead) {
            fmt::print("\n+{}+\n|{:<{}}|\n{}", dashes(w.all()), " MIG devices:", w.all(), border);
            fmt::print("| GPU  GI  CI  MIG |{:>{}} |        Vol|{:<23}|\n", "Memory-Usage",
                       w.instanceMemory - 1, "      Shared");
            fmt::print("|      ID  ID  Dev |{:>{}} | SM     Unc|{:<23}|\n", "BAR1-Usage",
                       w.instanceMemory - 1, " CE ENC DEC OFA JPG");
            fmt::print("|                  |{:<{}}|        ECC|{:<23}|\n", "", w.instanceMemory,
                       "");
            fmt::print("|{}+{}+{}+{}|\n", dashes(18, '='), dashes(w.instanceMemory, '='),
                       dashes(11, '='), dashes(23, '='));
            hasHead = true;
        }
        for (const Instance& instance : gpu.instances) {
            fmt::print("|{:>3} {:>4} {:>3} {:>3}  |{:>{}} | 14      0 |  1   0    0    0    0 |\n",
                       gpu.index, instance.gi, instance.ci, instance.number,
                       usage(instance.memory, layout), w.instanceMemory - 1);
            fmt::print("|{:18}|{:>{}} |{:11}|{:23}|\n{}", "", "0MiB /  8191MiB",
                       w.instanceMemory - 1, "", "", border);
        }
    }
}

void printProcesses(const Machine& machine, const Widths& w, int layout) {
    const bool hasIds = layout >= 450;
    fmt::print("{:{}}\n+{}+\n|{:<{}}|\n", "", w.all() + 2, dashes(w.all()), " Processes:", w.all());
    const int name = w.name + (hasIds ? 0 : 11);
    if (hasIds) {
        fmt::print("|  GPU   GI   CI        PID   Type   {:<{}} GPU Memory |\n", "Process name",
                   name);
        fmt::print("|        ID   ID                     {:<{}} Usage      |\n", "", name);
    } else {
        fmt::print("|  GPU       PID   Type   {:<{}} Usage      |\n", "Process name", name);
    }
    fmt::print("|{}|\n", dashes(w.all(), '='));
    bool hasAny = false;
    for (const Gpu& gpu : machine.gpus) {
        for (const Process& process : gpu.processes) {
            const std::string used =
                process.used ? fmt::format("{}MiB", mib(*process.used)) : "N/A";
            const std::string ids =
                hasIds ? fmt::format("  {:>3}  {:>3} ", process.gi, process.ci) : "";
            fmt::print("|  {:>3} {}{:>9}  {:>5}   {:<{}} {:>10} |\n", gpu.index, ids, process.pid,
                       process.type, process.name, name, used);
            hasAny = true;
        }
    }
    if (!hasAny)
        fmt::print("|{:<{}}|\n", "  No running processes found", w.all());
    fmt::print("+{}+\n", dashes(w.all()));
}

} // namespace

void printTable(const Machine& machine, int layout) {
    const Widths w = widthsOf(layout);
    printHead(machine, w, layout);
    for (const Gpu& gpu : machine.gpus)
        printGpu(gpu, w, layout);
    if (layout >= 450)
        printInstances(machine, w, layout);
    printProcesses(machine, w, layout);
}

} // namespace genv::standin
