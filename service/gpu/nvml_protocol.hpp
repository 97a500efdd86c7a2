// SPDX-License-Identifier: LGPL-2.1-or-later
// The protocol between the service and genv-nvml: lines of JSON, one reply for each request, one
// request at a time.
//
//   {"sample":7}
//
//   {"sample":7,"driver":"550.54.15","gpus":2,
//    "devices":[{"gpu":0,"mig":null,"uuid":"GPU-...","model":"NVIDIA A100","total":85899345920,
//                "used":1048576,"xid":null,"pci":"0000:65:00.0","nodes":[[195,0]],
//                "unified":false,"free":85898297344,"unaccounted":0,"persistence":true,
//                "sensors":{"utilization_percent":93,"temperature_celsius":38,
//                           "power_milliwatts":250000,"power_limit_milliwatts":400000}}],
//    "failed":[{"gpu":1,"lost":true}],
//    "uses":[{"device":"GPU-...","pids":[4711],"memory":[null],"utilization":[50]}],
//    "nodes":[{"node":[226,128],"name":"renderD128 of GPU 0","open":false,"pci":"0000:65:00.0"}]}
//   {"sample":7,"no_driver":"..."}
//   {"sample":7,"error":"..."}
//
// Each object has exactly these members, in any order. Null means that the driver does not know the
// value. The processes of a device come in columns, since there may be thousands. Neither side
// trusts the other: numbers have ranges, texts are printable and short, and lists have a maximum
// length.
#pragma once

#include "core/ports/gpus.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace genv::service {

/// The maximum size of a request and of a reply in bytes, including the line feed.
inline constexpr std::size_t maxRequestSize = 64;
inline constexpr std::size_t maxAnswerSize = 64U << 20U;
/// The maximum length of a text in a reply, in bytes.
inline constexpr std::size_t maxTextLength = 1024;
/// The maximum number of devices and of uses in a reply.
inline constexpr std::size_t maxDevices = 16'384;
inline constexpr std::size_t maxUses = 500'000;
/// The maximum number of the driver's nodes in a reply.
inline constexpr std::size_t maxDriverNodes = 4 * maxDevices;
/// The maximum number of nodes of a device.
inline constexpr std::size_t maxNodes = 8;

/// A line that violates the protocol.
class ProtocolError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A working device.
struct NvmlDevice {
    std::uint32_t gpu = 0;            ///< NVML's index of the GPU
    std::optional<std::uint32_t> mig; ///< NVML's index of the instance within its GPU
    core::DeviceUuid uuid;
    std::string model;
    core::Bytes totalMemory; ///< 0 if the driver does not know
    core::DeviceReading reading;
    /// The last XID since the previous sample, without the XIDs that applications cause.
    std::optional<std::uint32_t> xid;
    /// The nodes that a process must be able to open to use the device; empty if the driver does
    /// not report them.
    std::vector<core::DeviceNode> nodes{};
    std::string pciAddress{}; ///< empty if the driver does not know
    /// The driver has no memory reading, since the device shares the machine's memory.
    bool hasUnifiedMemory = false;
    core::MemoryBalance memory{};
    std::optional<bool> persistence{}; ///< empty if the driver does not report it

    friend bool operator==(const NvmlDevice&, const NvmlDevice&) = default;
};

/// A GPU that does not answer. The driver reports only its index.
struct NvmlFailedGpu {
    std::uint32_t gpu = 0;
    bool lost = false; ///< the driver says that the GPU fell off the bus or needs a reset

    friend bool operator==(const NvmlFailedGpu&, const NvmlFailedGpu&) = default;
};

/// The report of a working driver.
struct NvmlReport {
    std::uint32_t gpuCount = 0; ///< includes failed GPUs and GPUs in MIG mode
    std::vector<NvmlDevice> devices;
    std::vector<NvmlFailedGpu> failed;
    std::vector<core::ProcessSample> uses;
    std::string driverVersion{}; ///< empty if the driver does not report it
    std::vector<core::DriverNode> nodes{};
};

/// The machine has no driver.
struct NvmlNoDriver {
    std::string reason;
};

/// The machine has a driver that does not work.
struct NvmlFailure {
    std::string reason;
};

using NvmlAnswer = std::variant<NvmlReport, NvmlNoDriver, NvmlFailure>;

/// Returns whether text is a valid device UUID: 1 to 96 characters of [A-Za-z0-9-/]. This includes
/// the names that older drivers give to MIG instances.
bool isDeviceUuid(std::string_view text);

/// Returns whether text is a PCI bus address, such as "0000:65:00.0". The domain has up to eight
/// digits.
bool isPciAddress(std::string_view text);

/// Encode lines, without their line feed.
std::string encodeRequest(std::uint64_t sample);
std::string encodeAnswer(std::uint64_t sample, const NvmlAnswer& answer);

/// Decode lines. Both throw ProtocolError.
std::uint64_t decodeRequest(std::string_view line);
std::pair<std::uint64_t, NvmlAnswer> decodeAnswer(std::string_view line);

} // namespace genv::service
