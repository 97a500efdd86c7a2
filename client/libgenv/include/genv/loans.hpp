// SPDX-License-Identifier: LGPL-2.1-or-later
// Loans: devices of preemptible environments, which are parked when another request takes them.
#pragma once

#include "genv/types.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace genv {

/// An environment that is being parked for a request. Since 2.0.0.
struct TakenEnvironment {
    std::string id;
    std::string name; ///< empty if it has none
    std::string user;
    std::uint64_t bytesToMove = 0;
};

/// Preemptible environments are being parked for a request. Since 2.0.0.
struct Taking {
    std::vector<TakenEnvironment> environments;
    std::vector<std::uint32_t> devices;    ///< that the request gets; empty if not known
    std::chrono::microseconds estimate{0}; ///< how long it takes to move their memory
    std::optional<Time> deadline;          ///< from then on they go on, and the request waits on
};

/// A request in the queue, with its taking. Since 2.0.0.
struct WaitingRequest {
    QueueDescription description;
    std::string preemptible = "no"; ///< whether the devices will be on loan: "no", "park" or "end"
    bool resumes = false;           ///< a parked environment waits to go on
    std::optional<Taking> taking;   ///< set while environments are parked for it
    std::optional<std::string> problem; ///< why its last taking failed
};

} // namespace genv
