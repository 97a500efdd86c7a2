// SPDX-License-Identifier: LGPL-2.1-or-later
// The state of a machine at one moment, the only data that a scrape reads. A sample never changes
// after it was created, so any number of threads may read it.
#pragma once

#include "genv/isolation.hpp"
#include "genv/loans.hpp"
#include "genv/machine.hpp"
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

/// The parked environments of a machine.
struct ParkedTotals {
    std::uint64_t environments = 0;
    double bytes = 0; ///< of the host, that their processes hold
};

/// The preemptible environments of a machine, which are on loan.
struct LoanTotals {
    std::uint64_t environments = 0;
    std::uint64_t devices = 0; ///< that they hold, each counted once
};

/// The replies of the service to the calls of a sample, or the part that is available without
/// the service.
struct ServiceState {
    Machine machine;
    IsolationState isolation;
    std::vector<ComputeProcess> processes;
    std::vector<WaitingRequest> queue;
    ParkedTotals parked;
    LoanTotals loans;
};

/// The software on a machine.
enum class MachineSoftware {
    Unreached,   ///< unknown, because the machine could not be queried
    WithoutGenv, ///< its devices are known as far as nvidia-smi reports them
    WithOldGenv, ///< genv 1 in Python, without a service: its devices and holders are known
    WithService, ///< genvd, which replied or not
};

struct Sample {
    MachineSoftware machine = MachineSoftware::WithService;
    bool isUp = false;                 ///< whether the service replied, so that `state` is complete
    std::optional<ServiceState> state; ///< unset: no data about devices
    std::uint64_t omitted = 0; ///< devices, environments and processes above a host's limits
    std::chrono::steady_clock::time_point begun;
    std::chrono::duration<double> took{};
    /// Until this time, the sample answers scrapes at any age, because no newer one is available
    /// before.
    std::chrono::steady_clock::time_point standsUntil{};
};

/// The reasons for which a host could not be queried, or not completely.
namespace failure {
inline constexpr const char* unreachable = "unreachable"; ///< ssh cannot connect or log in
inline constexpr const char* timeout = "timeout";
inline constexpr const char* other = "other";
inline constexpr const char* driver = "driver"; ///< the host answers, but its nvidia-smi does not
} // namespace failure
inline constexpr std::array failureReasons{failure::unreachable, failure::timeout, failure::driver,
                                           failure::other};

/// How parking, and resuming, can end.
namespace outcome {
inline constexpr const char* parked = "parked";
inline constexpr const char* failed = "failed";   ///< the environment went on
inline constexpr const char* resumed = "resumed"; ///< all processes of the environment go on
inline constexpr const char* granted = "granted"; ///< a request has the GPUs that it took
inline constexpr const char* lost = "lost";       ///< the driver did not restore a process
} // namespace outcome

/// Counters that grow during the lifetime of the exporter.
struct Counters {
    std::map<std::pair<std::string, std::string>, std::uint64_t> actions; ///< by action and reason
    /// Parks by result and reason, and resumes by result. The results are among the constants
    /// below.
    std::map<std::pair<std::string, std::string>, std::uint64_t> parks;
    std::map<std::string, std::uint64_t> resumes;
    std::map<std::string, std::uint64_t> takings; ///< by result: granted or failed
    double takingSeconds = 0;                     ///< that takings took
    double parkingSeconds = 0;                    ///< that moving memory to the host took
    double resumingSeconds = 0;                   ///< that moving it back took
    std::uint64_t errors = 0; ///< samples that failed while the service was running
    std::map<std::string, std::uint64_t> failures; ///< of a host, by the reasons above
};

/// The answer to a scrape.
struct Served {
    std::shared_ptr<const Sample> sample; ///< null: no sample arrived in time
    Counters counters;
};

} // namespace genv::monitor
