// SPDX-License-Identifier: LGPL-2.1-or-later
// The content of the public option classes: the arguments of a call, by their names on the bus.
#pragma once

#include "client/libgenv/conversions.hpp"
#include "genv/options.hpp"
#include "genv/waiting.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace genv {

struct ActivateOptions::Values {
    client::Dictionary arguments;
};

struct AttachOptions::Values {
    client::Dictionary arguments;
};

struct EnforceOptions::Values {
    client::Dictionary arguments;
};

struct ConfigurationChange::Values {
    client::Dictionary arguments; ///< the arguments that are set
    std::vector<std::string> unset;
};

struct HistoryQuery::Values {
    Time since;
    std::optional<Time> until;
    client::Dictionary arguments;
};

struct Waiting::Values {
    int stopDescriptor = -1;
    std::function<void()> changed;
    std::function<std::optional<std::chrono::milliseconds>()> again;
    std::function<std::chrono::milliseconds()> pause;
    bool followsDevices = true; ///< whether a change of a device calls `changed`
    bool repeats = true; ///< whether the call is made again if the service ended before its answer
    std::string object;  ///< whose properties count as changes as well; empty for none
};

} // namespace genv
