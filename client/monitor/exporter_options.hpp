// SPDX-License-Identifier: LGPL-2.1-or-later
// The command line of the exporter.
#pragma once

#include "client/monitor/metrics.hpp"
#include "client/remote/ssh/host.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace genv::monitor {

struct ExporterOptions {
    std::string address = "127.0.0.1";  ///< IPv4 or IPv6, without brackets
    std::uint16_t port = 14368;         ///< 0 for a free port
    std::vector<std::string> hostNames; ///< under which to answer, besides those of this machine
    std::filesystem::path configFolder;
    std::chrono::seconds interval{10};
    Selection selection;
    std::vector<remote::Host> hosts; ///< with distinct labels; empty for this machine
    std::chrono::milliseconds timeout{5000};
    bool isQuiet = false;       ///< do not print messages about hosts
    bool endsWithOne = false;   ///< end at the first host that cannot be queried
    bool isAboutItself = false; ///< --help or --version has been printed
};

/// Throws core::UsageError.
ExporterOptions parseOptions(int count, char** arguments);

} // namespace genv::monitor
