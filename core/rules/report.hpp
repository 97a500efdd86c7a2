// SPDX-License-Identifier: LGPL-2.1-or-later
// A report: what somebody decided elsewhere, from a snapshot, that is to be ended and detached
// here. It is old by the time it arrives, so each entry is matched against what is so now.
#pragma once

#include "core/rules/action.hpp"
#include "core/rules/rule.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

namespace genv::core {

/// The longest report that is read, in bytes. A caller is refused for it before they are asked who
/// they are; all else about a report is found out by parsing it, which is for those who may.
inline constexpr std::size_t longestReport = std::size_t{4} << 20;

/// Throws Error(InvalidArgs) for a report that is longer than that.
void requireReportLength(std::string_view json);

struct EnforcementReport {
    struct Process {
        Pid pid = 0;
        std::optional<EnvironmentId> environment;
        std::vector<DeviceIndex> devices;
    };
    std::vector<Process> terminate;
    std::map<DeviceIndex, std::vector<EnvironmentId>> detach;
    bool terminateProcesses = true; ///< false: no process is signalled, also not by a detachment
};

/// Reads `{"terminate": {"processes": [...]}, "detach": {"0": {"envs": [...]}}}` with the entities
/// of a snapshot, and an optional "terminate_processes": false. Throws Error(InvalidArgs).
EnforcementReport parseReport(std::string_view json);

/// What of a report is still so, and why the rest is not done.
struct MatchedReport {
    Consequences consequences;
    std::vector<EnforcementAction> unmatched;
};

/// Matches a report with what is so now: processes by pid, environment and one of their devices,
/// attachments by device and environment.
MatchedReport matchReport(const EnforcementReport& report, const Observation& observation,
                          const Ledger& ledger,
                          const std::function<bool(const ComputeProcess&)>& isProtected);

} // namespace genv::core
