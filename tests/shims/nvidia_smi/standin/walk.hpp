// SPDX-License-Identifier: LGPL-2.1-or-later
// A stand-in for NVIDIA's nvidia-smi: it walks NVML as that one does, and prints what that prints,
// so that what stands in front of both is tried without a GPU. It opens libnvidia-ml.so.1 by name,
// looks up each function, and uses the newest version that the library has.
//
// GENV_STANDIN_EXPORT_TABLE  "memory", "processes" or "memory,processes": what it takes through the
//                            export table; NVIDIA's own takes processes so
// GENV_STANDIN_LAYOUT        390, 470, 535 (default) or 550: the driver whose table it prints
// GENV_STANDIN_TEXT          a file that it prints instead of anything else
// GENV_STANDIN_END           an exit status, or "SIG" and a signal's number, to end with
// GENV_STANDIN_RECORD        a file to which it appends its arguments and LD_AUDIT
// GENV_MOCK_DRIVER_VERSION, GENV_MOCK_CUDA_VERSION  what it says in place of the library's
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
    std::optional<std::uint64_t> reserved; ///< the first version of the function knows none
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
    unsigned count = 0; ///< as NVML says it
    std::vector<Gpu> gpus;
};

/// The GPUs of this list of indices, UUIDs and PCI addresses, all without one. Ends the program as
/// NVIDIA's ends where there is no library, no driver or no such GPU.
Machine walk(const std::optional<std::string>& ids);

} // namespace genv::standin
