// SPDX-License-Identifier: LGPL-2.1-or-later
// What the service and genv-nvml say to each other: lines of JSON, one request at a time, one
// answer each.
//
//   {"sample":7}
//
//   {"sample":7,"driver":"550.54.15","gpus":2,
//    "devices":[{"gpu":0,"mig":null,"uuid":"GPU-...","model":"NVIDIA A100","total":85899345920,
//                "used":1048576,"utilization":93,"temperature":38,"power":250000,"xid":null,
//                "limit":400000,"pci":"0000:65:00.0","nodes":[[195,0]]}],
//    "failed":[{"gpu":1,"lost":true}],
//    "uses":[{"pid":4711,"device":"GPU-...","memory":null,"utilization":50}]}
//   {"sample":7,"no_driver":"..."}
//   {"sample":7,"error":"..."}
//
// Each object has exactly these members, in any order; null is "the driver does not know". Neither
// side trusts the other: numbers are ranges, texts are printable and short, lists are capped.
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

/// The longest request and the longest answer, in bytes, line feeds included.
inline constexpr std::size_t longestRequest = 64;
inline constexpr std::size_t longestAnswer = 64U << 20U;
/// The longest text in an answer, in bytes.
inline constexpr std::size_t longestText = 1024;
/// The most devices and the most uses in an answer.
inline constexpr std::size_t mostDevices = 16'384;
inline constexpr std::size_t mostUses = 500'000;
/// The most nodes of a device.
inline constexpr std::size_t maxNodes = 8;

/// A line that is none of the protocol's.
class ProtocolError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A device that works.
struct NvmlDevice {
    std::uint32_t gpu = 0;            ///< NVML's index of the GPU
    std::optional<std::uint32_t> mig; ///< NVML's index of the instance within its GPU
    core::DeviceUuid uuid;
    std::string model;
    core::Bytes totalMemory; ///< 0 where the driver does not know
    core::DeviceReading reading;
    /// The last XID since the sample before that no application causes.
    std::optional<std::uint32_t> xid;
    /// What a process must be able to open to use it; empty where the driver does not say so.
    std::vector<core::DeviceNode> nodes{};
    std::string pciAddress{}; ///< empty where the driver does not know

    friend bool operator==(const NvmlDevice&, const NvmlDevice&) = default;
};

/// A GPU that does not answer: all that the driver says of it is its index.
struct NvmlFailedGpu {
    std::uint32_t gpu = 0;
    bool lost = false; ///< the driver says that it fell off or needs a reset

    friend bool operator==(const NvmlFailedGpu&, const NvmlFailedGpu&) = default;
};

/// What a working driver reports.
struct NvmlReport {
    std::uint32_t gpuCount = 0; ///< also those that failed or are in MIG mode
    std::vector<NvmlDevice> devices;
    std::vector<NvmlFailedGpu> failed;
    std::vector<core::DeviceUse> uses;
    std::string driverVersion{}; ///< empty where the driver does not say
};

/// There is no driver here.
struct NvmlNoDriver {
    std::string reason;
};

/// There is a driver and it does not work.
struct NvmlFailure {
    std::string reason;
};

using NvmlAnswer = std::variant<NvmlReport, NvmlNoDriver, NvmlFailure>;

/// Whether text can be a device's UUID: 1 to 96 of [A-Za-z0-9-/], which is also what older drivers
/// call MIG instances.
bool isDeviceUuid(std::string_view text);

/// Whether text is where a device is on the PCI bus, such as "0000:65:00.0"; the domain has up to
/// eight digits.
bool isPciAddress(std::string_view text);

/// Lines without their line feed.
std::string encodeRequest(std::uint64_t sample);
std::string encodeAnswer(std::uint64_t sample, const NvmlAnswer& answer);

/// The reverse; both throw ProtocolError.
std::uint64_t decodeRequest(std::string_view line);
std::pair<std::uint64_t, NvmlAnswer> decodeAnswer(std::string_view line);

} // namespace genv::service
