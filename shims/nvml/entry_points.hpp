// SPDX-License-Identifier: LGPL-2.1-or-later
// The NVML functions that concern the filter, as tables of names and parameters. Both libraries of
// the filter are built from these tables, so a function added only here fails to link. A function
// that is missing here is never touched.
#pragma once

#include "client/nvml_abi.hpp"

#include <cstddef>

// Functions that the filter replaces. The lists of processes are untyped, because their entries
// differ by version and by driver.
#define GENV_NVML_FILTERED(X)                                                                      \
    X(nvmlDeviceGetCount, unsigned*)                                                               \
    X(nvmlDeviceGetCount_v2, unsigned*)                                                            \
    X(nvmlDeviceGetHandleByIndex, unsigned, nvml::Device*)                                         \
    X(nvmlDeviceGetHandleByIndex_v2, unsigned, nvml::Device*)                                      \
    X(nvmlDeviceGetHandleByUUID, const char*, nvml::Device*)                                       \
    X(nvmlDeviceGetHandleByUUIDV, const nvml::Uuid*, nvml::Device*)                                \
    X(nvmlDeviceGetHandleBySerial, const char*, nvml::Device*)                                     \
    X(nvmlDeviceGetHandleByPciBusId, const char*, nvml::Device*)                                   \
    X(nvmlDeviceGetHandleByPciBusId_v2, const char*, nvml::Device*)                                \
    X(nvmlDeviceGetMigDeviceHandleByIndex, nvml::Device, unsigned, nvml::Device*)                  \
    X(nvmlDeviceGetTopologyNearestGpus, nvml::Device, int, unsigned*, nvml::Device*)               \
    X(nvmlSystemGetTopologyGpuSet, unsigned, unsigned*, nvml::Device*)                             \
    X(nvmlDeviceGetMemoryInfo, nvml::Device, nvml::MemoryV1*)                                      \
    X(nvmlDeviceGetMemoryInfo_v2, nvml::Device, nvml::MemoryV2*)                                   \
    X(nvmlDeviceGetComputeRunningProcesses, nvml::Device, unsigned*, void*)                        \
    X(nvmlDeviceGetComputeRunningProcesses_v2, nvml::Device, unsigned*, void*)                     \
    X(nvmlDeviceGetComputeRunningProcesses_v3, nvml::Device, unsigned*, void*)                     \
    X(nvmlDeviceGetGraphicsRunningProcesses, nvml::Device, unsigned*, void*)                       \
    X(nvmlDeviceGetGraphicsRunningProcesses_v2, nvml::Device, unsigned*, void*)                    \
    X(nvmlDeviceGetGraphicsRunningProcesses_v3, nvml::Device, unsigned*, void*)                    \
    X(nvmlDeviceGetMPSComputeRunningProcesses, nvml::Device, unsigned*, void*)                     \
    X(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvml::Device, unsigned*, void*)                  \
    X(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvml::Device, unsigned*, void*)                  \
    X(nvmlDeviceGetRunningProcessDetailList, nvml::Device, nvml::ProcessDetailList*)               \
    X(nvmlDeviceGetProcessUtilization, nvml::Device, nvml::ProcessUtilizationSample*, unsigned*,   \
      unsigned long long)                                                                          \
    X(nvmlDeviceGetProcessesUtilizationInfo, nvml::Device, nvml::ProcessesUtilizationInfo*)        \
    X(nvmlDeviceGetAccountingPids, nvml::Device, unsigned*, unsigned*)                             \
    X(nvmlDeviceGetAccountingStats, nvml::Device, unsigned, void*)                                 \
    X(nvmlDeviceGetEncoderSessions, nvml::Device, unsigned*, nvml::EncoderSession*)                \
    X(nvmlDeviceGetFBCSessions, nvml::Device, unsigned*, nvml::FbcSession*)                        \
    X(nvmlInternalGetExportTable, const void**, const void*)

// Functions that the filter only calls.
#define GENV_NVML_USED(X)                                                                          \
    X(nvmlDeviceGetUUID, nvml::Device, char*, unsigned)                                            \
    X(nvmlDeviceGetIndex, nvml::Device, unsigned*)                                                 \
    X(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, nvml::Device, nvml::Device*)

namespace genv::shims {

/// The position of a function in the tables. The filtered functions come first.
enum class Symbol : std::size_t {
#define GENV_X(name, ...) name,
    GENV_NVML_FILTERED(GENV_X) GENV_NVML_USED(GENV_X)
#undef GENV_X
        Count
};

inline constexpr std::size_t symbolCount = static_cast<std::size_t>(Symbol::Count);
inline constexpr std::size_t filteredCount = static_cast<std::size_t>(Symbol::nvmlDeviceGetUUID);

/// The type of a function.
template <Symbol symbol>
struct SignatureOf;
#define GENV_X(name, ...)                                                                          \
    template <>                                                                                    \
    struct SignatureOf<Symbol::name> {                                                             \
        using Type = nvml::Return(__VA_ARGS__);                                                    \
    };
GENV_NVML_FILTERED(GENV_X)
GENV_NVML_USED(GENV_X)
#undef GENV_X

} // namespace genv::shims
