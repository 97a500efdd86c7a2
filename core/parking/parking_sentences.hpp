// SPDX-License-Identifier: LGPL-2.1-or-later
// The sentences about parking that users read at prompts and from genv-notify, as those of
// core/sentences/sentences.hpp. A problem is a text of the service; it may contain quotation marks.
#pragma once

#include "core/sentences/sentences.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::core {

/// Why an environment is parked. The caller escapes the names of users.
struct ParkedWhy {
    std::string reason;                    ///< as in Parking::reason
    std::string actor = {};                ///< the user who asked for it; may be empty
    std::string taker = {};                ///< the user for whose request it was; empty: none
    std::optional<WallTime> expected = {}; ///< when it goes on by itself, if that is expected

    /// Whether it waits in the queue, and so needs no command to go on.
    [[nodiscard]] bool resumesByItself() const { return reason == "taken" || reason == "idle"; }
};

/// An environment that is parked for a request.
struct TakenFrom {
    std::string environment; ///< its id
    std::string name;        ///< empty if it has none
    std::string user;        ///< escaped
    Bytes bytes;             ///< to move
};

/// Returns the reason of a parking as a clause, such as "for a request of bob". It is empty if its
/// owner asked for it.
std::string becauseParked(const ParkedWhy& why);
/// Returns how a parked environment goes on: by itself, and when, or by which command.
std::string describeComeback(const ParkedWhy& why);
/// An environment was parked, and `memory` is on the host.
std::string describeParked(const std::vector<DeviceIndex>& devices, Bytes memory,
                           const ParkedWhy& why);
/// A preemptible environment that cannot be parked ends then, for a request of `taker`.
std::string describeLoanEnding(const std::string& taker, WallTime end);
/// These environments are being parked for a request, which gets `devices` (may be empty). The
/// sentence has the time that remains, since it is told while it is true; 0: longer than estimated.
std::string describeTaking(const std::vector<TakenFrom>& victims,
                           const std::vector<DeviceIndex>& devices, std::chrono::seconds remaining);
/// They were not parked in time, or could not be, and the request waits on. `problem` may be empty.
std::string describeTakingFailed(const std::vector<TakenFrom>& victims, std::string_view problem);
/// A parked environment has its devices again.
std::string describeResumed(const std::vector<DeviceIndex>& devices);
/// An environment could not be parked. `reason`: as in Parking::reason, if known.
std::string describeParkingFailed(std::string_view problem, std::string_view reason = {});
/// Something is in the way of processes that are to go on.
std::string describeResumeDelayed(std::string_view problem);
/// The driver did not restore these processes.
std::string describeLost(const NamedProcesses& processes, std::string_view problem);
/// An environment has been parked for MaxParkedTime. The sentence has the end and not the remaining
/// time, since a prompt may show it much later. `environment` is the id.
std::string describeParkedTooLong(std::string_view environment, WallTime end);
/// An environment without a shell keeps host memory for these parked processes. genv-watch
/// recognizes it as describeKept().
std::string describeKeptParked(std::string_view environment, Bytes memory,
                               const NamedProcesses& processes);

} // namespace genv::core
