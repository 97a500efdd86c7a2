// SPDX-License-Identifier: LGPL-2.1-or-later
// A report: processes to end and devices to detach that were selected elsewhere, from a snapshot.
// The report is outdated when it arrives, so each entry is matched against the current state.
#pragma once

#include "core/rules/action.hpp"
#include "core/rules/rule.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

namespace genv::core {

/// The maximum length of a report, in bytes. It is checked before the caller is authorized. All
/// other properties are only known after parsing, which is done only for authorized callers.
inline constexpr std::size_t maxReportSize = std::size_t{4} << 20;

/// Throws Error(InvalidArgs) for a report that exceeds this length.
void requireReportLength(std::string_view json);

struct EnforcementReport {
    struct Process {
        Pid pid = 0;
        std::optional<EnvironmentId> environment;
        std::vector<DeviceIndex> devices;
    };
    std::vector<Process> terminate;
    std::map<DeviceIndex, std::vector<EnvironmentId>> detach;
    bool terminateProcesses =
        true; ///< false: no process is signalled, not even because of a detachment
};

/// Parses `{"terminate": {"processes": [...]}, "detach": {"0": {"envs": [...]}}}` with the entities
/// of a snapshot, and an optional "terminate_processes": false. Throws Error(InvalidArgs).
EnforcementReport parseReport(std::string_view json);

/// The entries of a report that still apply, and the reasons why the others are skipped.
struct MatchedReport {
    Consequences consequences;
    std::vector<EnforcementEntry> unmatched;
};

/// Matches a report against the current state: processes by PID, environment and one of their
/// devices, attachments by device and environment.
MatchedReport matchReport(const EnforcementReport& report, const Observation& observation,
                          const LedgerView& ledger,
                          const std::function<bool(const ObservedProcess&)>& isProtected);

} // namespace genv::core
