// SPDX-License-Identifier: LGPL-2.1-or-later
// The part shared by "genvctl monitor" and "genvctl remote monitor": the options of the exporter
// and how to start it. The exporter is a separate program with a web server, which replaces genvctl
// in the same process.
#pragma once

#include "client/remote/ssh/host.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace genv::ctl {

struct MonitorOptions {
    unsigned port = 14368;
    std::string address = "127.0.0.1";
    std::vector<std::string> hostNames;
    std::string configFolder;
    unsigned interval = 10;
    bool noProcesses = false;
    bool noUsers = false;

    /// Adds all options to a command. This object must outlive the parsing.
    void addTo(CLI::App& command);
};

/// The machines to monitor instead of this one.
struct MonitoredHosts {
    std::vector<remote::Host> hosts;
    std::optional<std::chrono::milliseconds> timeout; ///< of each; unset for the exporter's default
    bool isQuiet = false;
    bool endsWithOne = false;
};

/// Replaces this process with the exporter. Throws Failure if it cannot be started.
[[noreturn]] void becomeExporter(const MonitorOptions& options, const MonitoredHosts& hosts);

} // namespace genv::ctl
