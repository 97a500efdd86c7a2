// SPDX-License-Identifier: LGPL-2.1-or-later
// What "genvctl monitor" and "genvctl remote monitor" have in common: the exporter's options, and
// the exporter itself, a program of its own, with a web server in it, that takes the place of
// genvctl in the same process.
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
    std::string configFolder;
    unsigned interval = 10;
    bool noProcesses = false;
    bool noUsers = false;

    /// Adds all of them to a command. This object must outlive the parsing.
    void addTo(CLI::App& command);
};

/// Which machines it is to be started for, where that is not this one.
struct MonitoredHosts {
    std::vector<remote::Host> hosts;
    std::optional<std::chrono::milliseconds> timeout; ///< of each; unset: the exporter's own
    bool isQuiet = false;
    bool endsWithOne = false;
};

/// Becomes the exporter. Throws Failure where that cannot be started.
[[noreturn]] void becomeExporter(const MonitorOptions& options, const MonitoredHosts& hosts);

} // namespace genv::ctl
