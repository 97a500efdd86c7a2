// SPDX-License-Identifier: LGPL-2.1-or-later
// Traces of requests for GPUs: a month that is made up, always the same, and recorded ones.
#pragma once

#include "core/base/bytes.hpp"
#include "core/base/process.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::bench {

/// A request of a user, and its use of the GPUs.
struct TraceRequest {
    std::chrono::seconds arrival{0}; ///< since the beginning of the trace
    core::Uid user = 0;
    std::uint32_t gpus = 1;
    std::chrono::seconds duration{0};
    bool hasLease = false; ///< it tells how long it takes, so others can plan with it
    /// The memory that it uses on each GPU. Unset: it cannot be parked for others.
    std::optional<core::Bytes> loan = {};
};

struct Trace {
    std::uint32_t gpus = 8;                 ///< of the machine
    std::map<core::Uid, std::string> names; ///< of the users
    std::vector<TraceRequest> requests;     ///< by arrival
};

/// Returns a made-up month of 20 people on 8 GPUs: three who submit sweeps of many commands at
/// night, twelve who work on weekdays, and five who come now and then. The sweeps can be parked.
Trace madeUpMonth();

/// Reads a recorded trace. Each line has an arrival in seconds, a user, the number of GPUs and a
/// duration in seconds, separated by commas; "#" begins a comment. A fifth number says that the
/// request can be parked for others, and how many GiB it uses on each GPU. Throws
/// core::Error(InvalidArgs) with the line of a mistake.
Trace readTrace(const std::filesystem::path& file, std::uint32_t gpus);

} // namespace genv::bench
