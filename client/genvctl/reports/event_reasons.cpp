// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/event_reasons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace genv::ctl {

std::string reasonText(std::string_view reason) {
    using Row = std::pair<std::string_view, std::string_view>;
    constexpr std::array rows{Row{"user", "by its user"},
                              Row{"admin", "by an administrator"},
                              Row{"process-exit", "its last process ended"},
                              Row{"device-lost", "the driver no longer finds it"},
                              Row{"expired", "the lease ended"},
                              Row{"idle", "it was idle for too long"},
                              Row{"job", "by Slurm"},
                              Row{"parked", "it was parked"},
                              Row{"taken", "for another request"},
                              Row{"preempted", "for another request"},
                              Row{"timeout", "the timeout expired"},
                              Row{"cancelled", "canceled"},
                              Row{"refused", "refused"}};
    constexpr std::string_view rule = "rule:";
    if (reason.starts_with(rule))
        return fmt::format("by the rule {}", reason.substr(rule.size()));
    const auto* row = std::ranges::find(rows, reason, &Row::first);
    return std::string(row == rows.end() ? reason : row->second);
}

} // namespace genv::ctl
