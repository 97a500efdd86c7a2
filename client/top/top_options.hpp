// SPDX-License-Identifier: LGPL-2.1-or-later
// The command line of genv-top.
#pragma once

#include "client/remote/ssh/host.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::top {

struct TopOptions {
    enum class Json { Off, Short, Pretty };

    bool isOnce = false;
    bool isReadOnly = false;
    bool mayAskPassword = true;
    Json json = Json::Off;
    std::vector<std::uint32_t> gpus;  ///< only these; empty: all
    std::optional<remote::Host> host; ///< the machine whose service is meant; unset: this one
    std::optional<std::string> cluster;
    bool isAboutItself = false; ///< --help or --version has been answered
};

/// Throws core::UsageError.
TopOptions parseOptions(int count, char** arguments);

} // namespace genv::top
