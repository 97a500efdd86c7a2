// SPDX-License-Identifier: LGPL-2.1-or-later
// What a machine said at one moment, which is all that a scrape reads. A sample never changes once
// it is made, so any number of threads may read it.
#pragma once

#include "genv/isolation.hpp"
#include "genv/types.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace genv::monitor {

/// The answers of the service to the four calls of a sample, or as much of them as could be found
/// out without it.
struct ServiceState {
    Overview overview;
    std::map<std::uint32_t, std::uint64_t> refusedOpens; ///< by device, where the service counts
    IsolationState isolation;
    std::vector<ComputeProcess> processes;
    std::vector<QueueEntry> queue;
};

/// What there is on a machine.
enum class Machine {
    Unreached,   ///< not known: it could not be asked
    WithoutGenv, ///< its devices are known as far as its nvidia-smi tells
    WithOldGenv, ///< the Python genv, which has no service: devices and who holds them are known
    WithService, ///< genvd, which answered or not
};

struct Sample {
    Machine machine = Machine::WithService;
    bool isUp = false;                 ///< the service answered, so that all of `state` is known
    std::optional<ServiceState> state; ///< unset: nothing is known of devices
    std::uint64_t leftOut = 0; ///< devices, environments and processes over what one host may have
    std::chrono::steady_clock::time_point begun;
    std::chrono::duration<double> took{};
    /// Until then it answers scrapes, however old it is: nothing else is to be had before.
    std::chrono::steady_clock::time_point standsUntil{};
};

/// Why a host could not be asked, or not for all.
namespace failure {
inline constexpr const char* unreachable = "unreachable"; ///< ssh cannot connect or log in
inline constexpr const char* timeout = "timeout";
inline constexpr const char* other = "other";
inline constexpr const char* driver = "driver"; ///< it answers, but its nvidia-smi does not
} // namespace failure
inline constexpr std::array failureReasons{failure::unreachable, failure::timeout, failure::driver,
                                           failure::other};

/// What grows as long as the exporter runs.
struct Counters {
    std::map<std::pair<std::string, std::string>, std::uint64_t> actions; ///< by action and reason
    std::uint64_t errors = 0; ///< samples that failed though the service was there
    std::map<std::string, std::uint64_t> failures; ///< of a host, by the reasons above
};

/// What a scrape is answered with.
struct Served {
    std::shared_ptr<const Sample> sample; ///< null: none came in time
    Counters counters;
};

} // namespace genv::monitor
