// SPDX-License-Identifier: LGPL-2.1-or-later
// The options of commands that show the past: the period and the user.
#pragma once

#include "genv/options.hpp"

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace genv::ctl {

class Context;

struct HistoryOptions {
    std::string since;
    std::string until;
    std::string user;
    bool all = false;

    /// Adds --since, --until, --user and --all. This object must outlive the parsing. `since` is
    /// the default of --since in the help.
    void addTo(CLI::App& command, const std::string& sinceWithout);

    /// Returns the query. `sinceWithout` is the default of --since. Without --user and --all, root
    /// sees the events of all users, and others see their own. Throws Failure(Usage).
    [[nodiscard]] HistoryQuery query(Context& context, Time sinceWithout) const;
};

} // namespace genv::ctl
