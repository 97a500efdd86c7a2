// SPDX-License-Identifier: LGPL-2.1-or-later
// The lists of processes that NVML gives. Its functions are called in three versions whose entries
// differ in size, not always as the version says, and a list may grow between asking for its size
// and reading it.
#pragma once

#include "core/bytes.hpp"
#include "core/process.hpp"
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

/// Functions that list the same processes, and the size of their entries in bytes. Newest first.
using NvmlProcessVersions = std::vector<std::pair<const NvmlProcessFunction*, std::size_t>>;

/// Lists processes into `processes`, by the first function that is there.
nvml::Return listProcesses(const NvmlProcessVersions& versions, nvml::Device device,
                           std::vector<NvmlProcess>& processes);

/// How much of a GPU's time each process took lately, in percent, read by
/// nvmlDeviceGetProcessUtilization(). NVML lists no process that took none; it fills nothing in
/// where it does not know.
using NvmlUtilizations = std::map<core::Pid, std::uint32_t>;

/// The newest sample of each process since a moment, in microseconds since the epoch. Succeeds
/// without any where no process took any time.
nvml::Return readUtilizations(const NvmlLibrary& nvml, nvml::Device device, std::uint64_t since,
                              NvmlUtilizations& utilizations);

/// The size of the entries in a buffer that was all `unwritten` before `count` (above 0) of them
/// were written, if that can be told.
std::optional<std::size_t> measureEntries(std::span<const unsigned char> buffer, std::size_t count);

/// What a buffer for measureEntries() is filled with. No entry ends in it: they end in a small
/// number or in all ones.
inline constexpr unsigned char unwritten = 0xA5;

} // namespace genv::service
