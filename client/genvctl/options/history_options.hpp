// SPDX-License-Identifier: LGPL-2.1-or-later
// The options of the commands that look back: from when to when, and whose.
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

    /// Adds --since, --until, --user and --all. This object must outlive the parsing. `since` says
    /// in the help how far back it goes without --since.
    void addTo(CLI::App& command, const std::string& sinceWithout);

    /// What is asked for; without --since, from this moment on. Without --user and --all root sees
    /// everybody's, others their own. Throws Failure(Usage).
    [[nodiscard]] HistoryQuery query(Context& context, Time sinceWithout) const;
};

} // namespace genv::ctl
