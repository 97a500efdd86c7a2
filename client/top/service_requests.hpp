// SPDX-License-Identifier: LGPL-2.1-or-later
// The requests to the service.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>

namespace genv::top {

struct DetachRequest {
    std::string environment;
    std::uint32_t gpu = 0;

    friend bool operator==(const DetachRequest&, const DetachRequest&) = default;
};
struct TerminateRequest {
    std::uint32_t pid = 0;

    friend bool operator==(const TerminateRequest&, const TerminateRequest&) = default;
};
struct ExtendRequest {
    std::string environment;
    std::chrono::seconds lifetime{0}; ///< from now on

    friend bool operator==(const ExtendRequest&, const ExtendRequest&) = default;
};
struct AttachGpuRequest {
    std::string environment;
    std::uint32_t gpu = 0;

    friend bool operator==(const AttachGpuRequest&, const AttachGpuRequest&) = default;
};
struct WaitRequest {
    std::string environment;
    std::uint32_t count = 1;

    friend bool operator==(const WaitRequest&, const WaitRequest&) = default;
};
struct LeaveRequest {
    std::uint64_t ticket = 0;
    std::string environment;

    friend bool operator==(const LeaveRequest&, const LeaveRequest&) = default;
};
struct ParkRequest {
    std::string environment;

    friend bool operator==(const ParkRequest&, const ParkRequest&) = default;
};
struct ResumeRequest {
    std::string environment;

    friend bool operator==(const ResumeRequest&, const ResumeRequest&) = default;
};

using Request = std::variant<DetachRequest, TerminateRequest, ExtendRequest, AttachGpuRequest,
                             WaitRequest, LeaveRequest, ParkRequest, ResumeRequest>;

} // namespace genv::top
