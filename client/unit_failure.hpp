// SPDX-License-Identifier: LGPL-2.1-or-later
// The reason for the failure of a service, from what systemd knows. A service that exits by itself
// can state the reason in its status text. That of a crashed service describes the time before.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>

namespace genv::client {

/// Properties of a failed unit in systemd's interface Service.
struct UnitFailure {
    std::string result;         ///< Result, such as "exit-code"
    std::int32_t code = 0;      ///< ExecMainCode, as si_code of SIGCHLD
    std::int32_t status = 0;    ///< ExecMainStatus: an exit status or a signal
    std::string statusText;     ///< StatusText, which the service sets
    std::uint32_t restarts = 0; ///< NRestarts, since it was last started by hand
};

/// Returns what ended the process, such as "killed by SIGSEGV".
inline std::string endOf(const UnitFailure& failure) {
    if (failure.code != CLD_KILLED && failure.code != CLD_DUMPED)
        return failure.result + ", status " + std::to_string(failure.status);
    const char* name = ::sigabbrev_np(failure.status);
    std::string killed = name != nullptr ? std::string("killed by SIG") + name
                                         : "killed by signal " + std::to_string(failure.status);
    if (failure.result == "watchdog")
        return killed + " because it hung";
    if (failure.result == "oom-kill")
        return killed + " because memory ran out";
    return killed;
}

/// Returns the reason as a clause, such as "killed by SIGSEGV, after 19 restarts".
inline std::string reasonOf(const UnitFailure& failure) {
    const bool hasExited = failure.code == CLD_EXITED && failure.status != 0;
    std::string reason =
        hasExited && !failure.statusText.empty() ? failure.statusText : endOf(failure);
    if (failure.restarts > 0)
        reason += ", after " + std::to_string(failure.restarts) +
                  (failure.restarts == 1 ? " restart" : " restarts");
    return reason;
}

} // namespace genv::client
