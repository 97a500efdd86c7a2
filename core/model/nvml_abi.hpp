// SPDX-License-Identifier: LGPL-2.1-or-later
// The part of NVML's binary interface that genv uses. The service calls it, and the NVML filter
// (shims/nvml) implements it in place of the library. It is declared here so that a build needs no
// file from NVIDIA. The file has declarations only, and each comment gives NVML's name. The layouts
// are those of 64-bit Linux and are checked with static assertions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace genv::nvml {

/// nvmlDevice_t: a GPU or a MIG instance, until nvmlShutdown().
using Device = struct OpaqueDevice*;
/// nvmlEventSet_t
using EventSet = struct OpaqueEventSet*;

/// nvmlReturn_t. A driver may return values that are not listed.
enum class Return : int {
    Success = 0,
    Uninitialized = 1,
    InvalidArgument = 2,
    NotSupported = 3,
    NoPermission = 4,
    NotFound = 6,
    InsufficientSize = 7,
    InsufficientPower = 8,
    DriverNotLoaded = 9,
    Timeout = 10,
    IrqIssue = 11,
    LibraryNotFound = 12,
    FunctionNotFound = 13,
    GpuIsLost = 15,
    ResetRequired = 16,
    OperatingSystem = 17,
    LibRmVersionMismatch = 18,
    Memory = 20,
    InsufficientResources = 23,
    ArgumentVersionMismatch = 25,
    NotReady = 27,
    GpuNotFound = 28,
    Unknown = 999,
};

/// NVML_VALUE_NOT_AVAILABLE as a number of bytes.
inline constexpr std::uint64_t valueNotAvailable = ~std::uint64_t{0};
/// The value of gpuInstanceId and computeInstanceId outside MIG mode.
inline constexpr std::uint32_t noInstance = ~std::uint32_t{0};
/// NVML_DEVICE_UUID_V2_BUFFER_SIZE
inline constexpr unsigned uuidBufferSize = 96;
/// NVML_DEVICE_NAME_V2_BUFFER_SIZE
inline constexpr unsigned nameBufferSize = 96;
/// NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
inline constexpr unsigned driverVersionBufferSize = 80;
/// NVML_DEVICE_MIG_ENABLE
inline constexpr unsigned migEnabled = 1;
/// NVML_TEMPERATURE_GPU
inline constexpr unsigned temperatureOfGpu = 0;
/// nvmlEventTypeXidCriticalError
inline constexpr unsigned long long eventXidCriticalError = 0x8;

/// nvmlUtilization_t: percentages of the time in which a CUDA kernel ran, and in which memory was
/// accessed.
struct Utilization {
    unsigned int gpu;
    unsigned int memory;
};
static_assert(sizeof(Utilization) == 8);

/// nvmlPciInfo_t, as nvmlDeviceGetPciInfo_v3() writes it.
struct PciInfo {
    char busIdLegacy[16]; ///< with a domain of four digits
    unsigned int domain;
    unsigned int bus;
    unsigned int device;
    unsigned int pciDeviceId;
    unsigned int pciSubSystemId;
    char busId[32]; ///< with a domain of eight digits
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, domain) == 16 &&
              offsetof(PciInfo, busId) == 36);

/// nvmlMemory_t: `used` includes the memory that the driver reserves.
struct MemoryV1 {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};
static_assert(sizeof(MemoryV1) == 24 && offsetof(MemoryV1, used) == 16);

/// nvmlMemory_v2_t: `used` is the allocated memory.
struct MemoryV2 {
    unsigned int version; ///< memoryV2Version, set by the caller
    unsigned long long total;
    unsigned long long reserved;
    unsigned long long free;
    unsigned long long used;
};
static_assert(sizeof(MemoryV2) == 40 && offsetof(MemoryV2, total) == 8 &&
              offsetof(MemoryV2, used) == 32);

/// nvmlMemory_v2: the size, with the version in the highest byte.
inline constexpr unsigned memoryV2Version = sizeof(MemoryV2) | (2U << 24U);
static_assert(memoryV2Version == 0x02000028);

/// nvmlProcessInfo_v1_t
struct ProcessV1 {
    unsigned int pid;
    unsigned long long usedGpuMemory; ///< bytes, or valueNotAvailable
};
static_assert(sizeof(ProcessV1) == 16 && offsetof(ProcessV1, usedGpuMemory) == 8);

/// nvmlProcessInfo_v2_t, also used by the _v3 functions. It begins like ProcessV1.
struct ProcessV2 {
    unsigned int pid;
    unsigned long long usedGpuMemory; ///< bytes, or valueNotAvailable
    unsigned int gpuInstanceId;       ///< or noInstance
    unsigned int computeInstanceId;   ///< or noInstance
};
static_assert(sizeof(ProcessV2) == 24 && offsetof(ProcessV2, usedGpuMemory) == 8 &&
              offsetof(ProcessV2, gpuInstanceId) == 16 &&
              offsetof(ProcessV2, computeInstanceId) == 20);

/// nvmlProcessDetail_v1_t, which the _v3 functions of the first R535 drivers write by mistake. It
/// begins like ProcessV2.
struct ProcessDetailV1 {
    unsigned int pid;
    unsigned long long usedGpuMemory;
    unsigned int gpuInstanceId;
    unsigned int computeInstanceId;
    unsigned long long usedGpuCcProtectedMemory;
};
static_assert(sizeof(ProcessDetailV1) == 32 && offsetof(ProcessDetailV1, computeInstanceId) == 20);

/// nvmlProcessDetailList_v1_t
struct ProcessDetailList {
    unsigned int version; ///< processDetailListVersion, set by the caller
    unsigned int mode;    ///< compute 0, graphics 1, MPS 2
    unsigned int count;   ///< numProcArrayEntries: capacity on input, number of entries on output
    ProcessDetailV1* processes;
};
static_assert(sizeof(ProcessDetailList) == 24 && offsetof(ProcessDetailList, processes) == 16);
inline constexpr unsigned processDetailListVersion = sizeof(ProcessDetailList) | (1U << 24U);

/// nvmlProcessUtilizationSample_t: percentages for one process at one time.
struct ProcessUtilizationSample {
    unsigned int pid;
    unsigned long long timeStamp; ///< microseconds since the epoch
    unsigned int smUtil;
    unsigned int memUtil;
    unsigned int encUtil;
    unsigned int decUtil;
};
static_assert(sizeof(ProcessUtilizationSample) == 32 &&
              offsetof(ProcessUtilizationSample, smUtil) == 16);

/// nvmlProcessUtilizationInfo_v1_t
struct ProcessUtilizationInfo {
    unsigned long long timeStamp;
    unsigned int pid;
    unsigned int smUtil;
    unsigned int memUtil;
    unsigned int encUtil;
    unsigned int decUtil;
    unsigned int jpgUtil;
    unsigned int ofaUtil;
};
static_assert(sizeof(ProcessUtilizationInfo) == 40 && offsetof(ProcessUtilizationInfo, pid) == 8);

/// nvmlProcessesUtilizationInfo_v1_t
struct ProcessesUtilizationInfo {
    unsigned int version; ///< processesUtilizationInfoVersion, set by the caller
    unsigned int count;   ///< processSamplesCount: capacity on input, number of entries on output
    unsigned long long lastSeenTimeStamp;
    ProcessUtilizationInfo* samples; ///< procUtilArray
};
static_assert(sizeof(ProcessesUtilizationInfo) == 24 &&
              offsetof(ProcessesUtilizationInfo, samples) == 16);
inline constexpr unsigned processesUtilizationInfoVersion =
    sizeof(ProcessesUtilizationInfo) | (1U << 24U);

/// nvmlEncoderSessionInfo_t
struct EncoderSession {
    unsigned int sessionId;
    unsigned int pid;
    unsigned int vgpuInstance;
    unsigned int codecType;
    unsigned int hResolution;
    unsigned int vResolution;
    unsigned int averageFps;
    unsigned int averageLatency;
};
static_assert(sizeof(EncoderSession) == 32 && offsetof(EncoderSession, pid) == 4);

/// nvmlFBCSessionInfo_t
struct FbcSession {
    unsigned int sessionId;
    unsigned int pid;
    unsigned int vgpuInstance;
    unsigned int displayOrdinal;
    unsigned int sessionType;
    unsigned int sessionFlags;
    unsigned int hMaxResolution;
    unsigned int vMaxResolution;
    unsigned int hResolution;
    unsigned int vResolution;
    unsigned int averageFps;
    unsigned int averageLatency;
};
static_assert(sizeof(FbcSession) == 48 && offsetof(FbcSession, pid) == 4);

/// nvmlUUID_v1_t
struct Uuid {
    unsigned int version; ///< uuidVersion, set by the caller
    unsigned int type;    ///< uuidTypeAscii or uuidTypeBinary
    union {
        char text[41];
        unsigned char bytes[16];
    } value;
};
static_assert(sizeof(Uuid) == 52 && offsetof(Uuid, value) == 8);
inline constexpr unsigned uuidVersion = sizeof(Uuid) | (1U << 24U);
inline constexpr unsigned uuidTypeAscii = 1;
inline constexpr unsigned uuidTypeBinary = 2;

/// nvmlEventData_t. The first version of nvmlEventSetWait() does not set the two ids.
struct EventData {
    Device device;
    unsigned long long eventType;
    unsigned long long eventData;   ///< with eventXidCriticalError: the XID
    unsigned int gpuInstanceId;     ///< or noInstance
    unsigned int computeInstanceId; ///< or noInstance
};
static_assert(sizeof(EventData) == 32 && offsetof(EventData, eventData) == 16 &&
              offsetof(EventData, gpuInstanceId) == 24);

} // namespace genv::nvml
