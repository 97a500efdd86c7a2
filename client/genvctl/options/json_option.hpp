// SPDX-License-Identifier: LGPL-2.1-or-later
// --json, which is a global option. A command that takes all further words registers it itself.
#pragma once

#include "client/genvctl/context/context.hpp"

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace genv::ctl {

/// Adds --json[=FORMAT] to a command, which sets `mode`. `mode` must outlive the parsing.
CLI::Option* addJsonOption(CLI::App& app, JsonMode& mode);

} // namespace genv::ctl
