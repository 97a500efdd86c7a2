// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/shims/nvidia_smi/standin/print.hpp"

#include <fmt/format.h>

namespace genv::standin {

namespace {

void line(int indent, std::string_view key, std::string_view value) {
    fmt::print("{:{}}{:<{}}: {}\n", "", indent, key, 42 - indent, value);
}

void heading(int indent, std::string_view key) {
    fmt::print("{:{}}{}\n", "", indent, key);
}

std::string mibText(std::optional<std::uint64_t> bytes) {
    return bytes ? fmt::format("{} MiB", mib(*bytes)) : "N/A";
}

std::string readingText(std::optional<unsigned> value, const char* unit) {
    return value ? fmt::format("{} {}", *value, unit) : "N/A";
}

void memoryText(int indent, const std::optional<Memory>& memory) {
    heading(indent, "FB Memory Usage");
    line(indent + 4, "Total", memory ? mibText(memory->total) : "N/A");
    if (memory && memory->reserved)
        line(indent + 4, "Reserved", mibText(memory->reserved));
    line(indent + 4, "Used", memory ? mibText(memory->used) : "N/A");
    line(indent + 4, "Free", memory ? mibText(memory->free) : "N/A");
    heading(indent, "BAR1 Memory Usage");
    line(indent + 4, "Total", "256 MiB");
    line(indent + 4, "Used", "1 MiB");
    line(indent + 4, "Free", "255 MiB");
}

void instanceText(const Instance& instance) {
    heading(4, "MIG Device");
    line(8, "Index", std::to_string(instance.number));
    line(8, "GPU Instance ID", std::to_string(instance.gi));
    line(8, "Compute Instance ID", std::to_string(instance.ci));
    heading(8, "ECC Errors");
    heading(12, "Volatile");
    line(16, "SRAM Uncorrectable", "0");
    memoryText(8, instance.memory);
}

void processesText(const Gpu& gpu) {
    if (gpu.processes.empty()) {
        line(4, "Processes", "None");
        return;
    }
    heading(4, "Processes");
    for (const Process& process : gpu.processes) {
        line(8, "GPU instance ID", process.gi);
        line(8, "Compute instance ID", process.ci);
        line(8, "Process ID", std::to_string(process.pid));
        line(12, "Type", process.type);
        line(12, "Name", process.name);
        line(12, "Used GPU Memory", mibText(process.used));
    }
}

void gpuText(const Gpu& gpu, const std::string& display) {
    fmt::print("GPU {}\n", gpu.busId);
    const auto shows = [&](const char* section) {
        return display.empty() || display.find(section) != std::string::npos;
    };
    if (display.empty()) {
        line(4, "Product Name", gpu.name);
        heading(4, "MIG Mode");
        line(8, "Current", gpu.isMig ? "Enabled" : "Disabled");
        line(8, "Pending", gpu.isMig ? "Enabled" : "Disabled");
    }
    if (shows("MEMORY")) {
        for (const Instance& instance : gpu.instances)
            instanceText(instance);
    }
    if (display.empty()) {
        line(4, "Accounting Mode", "Disabled");
        line(4, "GPU UUID", gpu.uuid);
        line(4, "Minor Number", std::to_string(gpu.index));
    }
    if (shows("MEMORY"))
        memoryText(4, gpu.memory);
    if (shows("UTILIZATION")) {
        heading(4, "Utilization");
        line(8, "Gpu", readingText(gpu.utilization, "%"));
    }
    if (shows("TEMPERATURE")) {
        heading(4, "Temperature");
        line(8, "GPU Current Temp", readingText(gpu.temperature, "C"));
    }
    if (shows("PIDS"))
        processesText(gpu);
    fmt::print("\n");
}

void memoryXml(int indent, const std::optional<Memory>& memory) {
    const std::string tabs(static_cast<std::size_t>(indent), '\t');
    fmt::print("{}<fb_memory_usage>\n", tabs);
    fmt::print("{}\t<total>{}</total>\n", tabs, memory ? mibText(memory->total) : "N/A");
    if (memory && memory->reserved)
        fmt::print("{}\t<reserved>{}</reserved>\n", tabs, mibText(memory->reserved));
    fmt::print("{}\t<used>{}</used>\n", tabs, memory ? mibText(memory->used) : "N/A");
    fmt::print("{}\t<free>{}</free>\n", tabs, memory ? mibText(memory->free) : "N/A");
    fmt::print("{}</fb_memory_usage>\n", tabs);
    fmt::print("{0}<bar1_memory_usage>\n{0}\t<total>256 MiB</total>\n{0}\t<used>1 MiB</used>\n"
               "{0}\t<free>255 MiB</free>\n{0}</bar1_memory_usage>\n",
               tabs);
}

void processesXml(const Gpu& gpu) {
    fmt::print("\t\t<processes>\n");
    for (const Process& process : gpu.processes) {
        fmt::print("\t\t\t<process_info>\n\t\t\t\t<gpu_instance_id>{}</gpu_instance_id>\n"
                   "\t\t\t\t<compute_instance_id>{}</compute_instance_id>\n"
                   "\t\t\t\t<pid>{}</pid>\n\t\t\t\t<type>{}</type>\n"
                   "\t\t\t\t<process_name>{}</process_name>\n"
                   "\t\t\t\t<used_memory>{}</used_memory>\n\t\t\t</process_info>\n",
                   process.gi, process.ci, process.pid, process.type, process.name,
                   mibText(process.used));
    }
    fmt::print("\t\t</processes>\n");
}

void gpuXml(const Gpu& gpu) {
    fmt::print("\t<gpu id=\"{}\">\n\t\t<product_name>{}</product_name>\n", gpu.busId, gpu.name);
    const char* mode = gpu.isMig ? "Enabled" : "Disabled";
    fmt::print("\t\t<mig_mode>\n\t\t\t<current_mig>{0}</current_mig>\n"
               "\t\t\t<pending_mig>{0}</pending_mig>\n\t\t</mig_mode>\n",
               mode);
    fmt::print("\t\t<mig_devices>\n{}", gpu.instances.empty() ? "\t\t\tNone\n" : "");
    for (const Instance& instance : gpu.instances) {
        fmt::print("\t\t\t<mig_device>\n\t\t\t\t<index>{}</index>\n"
                   "\t\t\t\t<gpu_instance_id>{}</gpu_instance_id>\n"
                   "\t\t\t\t<compute_instance_id>{}</compute_instance_id>\n",
                   instance.number, instance.gi, instance.ci);
        memoryXml(4, instance.memory);
        fmt::print("\t\t\t</mig_device>\n");
    }
    fmt::print("\t\t</mig_devices>\n\t\t<uuid>{}</uuid>\n\t\t<minor_number>{}</minor_number>\n",
               gpu.uuid, gpu.index);
    memoryXml(2, gpu.memory);
    fmt::print("\t\t<utilization>\n\t\t\t<gpu_util>{}</gpu_util>\n\t\t</utilization>\n",
               readingText(gpu.utilization, "%"));
    processesXml(gpu);
    fmt::print("\t\t<accounted_processes>\n\t\t</accounted_processes>\n\t</gpu>\n\n");
}

} // namespace

void printText(const Machine& machine, const std::string& display) {
    fmt::print("\n==============NVSMI LOG==============\n\n");
    line(0, "Timestamp", "Sat Nov 21 20:00:00 2026");
    line(0, "Driver Version", machine.driver);
    line(0, "CUDA Version", machine.cuda);
    fmt::print("\n");
    line(0, "Attached GPUs", std::to_string(machine.count));
    for (const Gpu& gpu : machine.gpus)
        gpuText(gpu, display);
}

void printXml(const Machine& machine) {
    fmt::print("<?xml version=\"1.0\" ?>\n"
               "<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>\n"
               "\t<timestamp>Sat Nov 21 20:00:00 2026</timestamp>\n"
               "\t<driver_version>{}</driver_version>\n\t<cuda_version>{}</cuda_version>\n"
               "\t<attached_gpus>{}</attached_gpus>\n",
               machine.driver, machine.cuda, machine.count);
    for (const Gpu& gpu : machine.gpus)
        gpuXml(gpu);
    fmt::print("</nvidia_smi_log>\n");
}

} // namespace genv::standin
