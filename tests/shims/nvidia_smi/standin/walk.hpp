// SPDX-License-Identifier: LGPL-2.1-or-later
// A stand-in for NVIDIA's nvidia-smi. It walks NVML and prints the same output, so that the shim
// and the filter can be tested without a GPU. It opens libnvidia-ml.so.1 by name, looks up each
// function, and uses the newest version that the library has.
//
// GENV_STANDIN_EXPORT_TABLE  "memory", "processes" or "memory,processes": the calls through the
//                            export table; NVIDIA's program lists processes that way
// GENV_STANDIN_LAYOUT        390, 470, 535 (default) or 550: the driver whose table it prints
// GENV_STANDIN_TEXT          a file that it prints instead of any other output
// GENV_STANDIN_END           an exit status, or "SIG" and a signal's number, to end with
// GENV_STANDIN_RECORD        a file to which it appends its arguments and LD_AUDIT
// GENV_MOCK_DRIVER_VERSION, GENV_MOCK_CUDA_VERSION  replace the library's versions
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace genv::standin {

struct Memory {
    std::uint64_t total = 0;
    std::uint64_t used = 0;
    std::uint64_t free = 0;
    std::optional<std::uint64_t> reserved; ///< the first version of the function does not report it
};

struct Process {
    unsigned pid = 0;
    std::string type; ///< C, G, M+C
    std::string name;
    std::optional<std::uint64_t> used;
    std::string gi; ///< "N/A" outside MIG mode
    std::string ci;
};

struct Instance {
    unsigned number = 0;
    std::string uuid;
    std::string name;
    unsigned gi = 0;
    unsigned ci = 0;
    std::optional<Memory> memory;
};

struct Gpu {
    unsigned index = 0;
    std::string uuid;
    std::string name;
    std::string busId;
    std::optional<unsigned> utilization;
    std::optional<unsigned> temperature;
    std::optional<unsigned> power; ///< mW
    bool isMig = false;
    std::optional<Memory> memory;
    std::vector<Process> processes;
    std::vector<Instance> instances;
};

struct Machine {
    std::string driver;
    std::string cuda;
    unsigned count = 0; ///< as reported by NVML
    std::vector<Gpu> gpus;
};

/// Returns the GPUs in this list of indices, UUIDs and PCI addresses, or all GPUs without a list.
/// Ends the program as NVIDIA's does if there is no library, no driver or no such GPU.
Machine walk(const std::optional<std::string>& ids);

} // namespace genv::standin
