// SPDX-License-Identifier: LGPL-2.1-or-later
// The protocol between genvd and genv-park: one line of JSON for the request and one for the
// answer, then the connection closes.
//
//   {"call":"state","pid":12,"start":3456,"uid":1000}
//   {"call":"lock","pid":12,"start":3456,"uid":1000,"timeout":10000}
//   {"call":"capability"}
//
//   {"state":"locked"}
//   {"fault":"not-supported","code":801,"state":"locked"}
//   {"library":true,"functions":true,"driver":"13.0"}
//
// The other calls are "checkpoint", "restore" and "unlock", with the members of "state". A failure
// lacks "state" if it could not be read. Each object has exactly these members. Neither side trusts
// the other.
#pragma once

#include "core/ports/parker.hpp"

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

namespace genv::service {

/// The maximum size of a request and of an answer in bytes, including the line feed.
inline constexpr std::size_t maxParkRequest = 256;
inline constexpr std::size_t maxParkAnswer = 256;
/// The maximum length of the version of a driver, in bytes.
inline constexpr std::size_t maxParkDriver = 32;
/// The maximum time for which a Lock waits for CUDA kernels.
inline constexpr std::chrono::milliseconds maxLockTimeout{600'000};

/// A line that violates the protocol.
class ParkProtocolError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct ParkCallRequest {
    core::ParkingCall call = core::ParkingCall::State;
    core::ParkingTarget target;
    std::chrono::milliseconds lockTimeout{0}; ///< only of Lock, and then at least 1 ms
};
struct ParkCapabilityRequest {};
using ParkRequest = std::variant<ParkCallRequest, ParkCapabilityRequest>;
using ParkAnswer = std::variant<core::ParkingReply, core::ParkingCapability>;

/// Returns how long genv-park works on a request before it gives up. To move all memory of a GPU
/// takes minutes if the host's memory is slow.
std::chrono::milliseconds parkDeadline(const ParkRequest& request);

/// Encode lines, without their line feed.
std::string encodeParkRequest(const ParkRequest& request);
std::string encodeParkAnswer(const ParkAnswer& answer);

/// Decode lines. Both throw ParkProtocolError.
ParkRequest decodeParkRequest(std::string_view line);
ParkAnswer decodeParkAnswer(std::string_view line);

} // namespace genv::service
