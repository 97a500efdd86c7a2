// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads NVML's process lists. The functions exist in three versions whose entries differ in size,
// and the size does not always match the version. A list may grow between the call that returns its
// size and the call that reads it.
#pragma once

#include "core/base/bytes.hpp"
#include "core/base/process.hpp"
#include "service/gpu/nvml_library.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace genv::service {

/// A process on a device, as NVML lists it.
struct NvmlProcess {
    core::Pid pid = 0;
    std::optional<core::Bytes> usedMemory;
    std::uint32_t gpuInstance = nvml::noInstance;
    std::uint32_t computeInstance = nvml::noInstance;
};

/// Functions that list the same processes, with the size of their entries in bytes. Newest first.
using NvmlProcessVersions = std::vector<std::pair<const NvmlProcessFunction*, std::size_t>>;

/// Lists processes into `processes` with the first available function.
nvml::Return listProcesses(const NvmlProcessVersions& versions, nvml::Device device,
                           std::vector<NvmlProcess>& processes);

/// How much of a GPU's time each process took lately, in percent. NVML lists no process that took
/// none.
using NvmlUtilizations = std::map<core::Pid, std::uint32_t>;

/// Reads the newest sample of each process since `since`, in microseconds since the epoch. Succeeds
/// with an empty map if no process used any time.
nvml::Return readUtilizations(const NvmlLibrary& nvml, nvml::Device device, std::uint64_t since,
                              NvmlUtilizations& utilizations);

/// Returns the size of the entries in a buffer, if it can be determined. The buffer was filled with
/// `unwritten` before `count` (above 0) entries were written.
std::optional<std::size_t> measureEntries(std::span<const unsigned char> buffer, std::size_t count);

/// The byte that fills a buffer for measureEntries(). No entry ends with this byte: entries end
/// with a small number or with all bits set.
inline constexpr unsigned char unwritten = 0xA5;

} // namespace genv::service
