// SPDX-License-Identifier: LGPL-2.1-or-later
// The memory of running programs, which the fake CUDA library (tests/fake_cuda) allocates.
// Each allocation is a file in the folder "allocations" beside the machine's JSON file. It contains
// a GPU's UUID and a number of bytes. The program holds a lock on the file, by which the kernel
// tells its PID in the PID namespace of the reader, as the driver does, and which ends with the
// program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace genv::fake_nvml {

struct Allocation {
    unsigned pid;
    std::string gpu;
    std::uint64_t bytes;
};

/// Returns the allocations of running programs in a folder, or nothing if there is no folder. A
/// program excludes its own files: a look at one would end its lock.
std::vector<Allocation> readAllocations(const std::filesystem::path& folder,
                                        const std::set<std::string>& excluded = {});

/// Returns the folder of a library, with symbolic links followed. `symbol` is in the library.
std::filesystem::path folderOfLibrary(const void* symbol);

} // namespace genv::fake_nvml
