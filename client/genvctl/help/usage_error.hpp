// SPDX-License-Identifier: LGPL-2.1-or-later
// What genvctl says of a command line that it cannot parse. CLI11 reports these errors in its own
// words; scripts and people get the same form for all of them.
#pragma once

#include "client/genvctl/common/exit_status.hpp"

#include <string>

namespace CLI {
class App;
class ParseError;
} // namespace CLI

namespace genv::ctl {

/// The failure for a word that names no command of `parent`, such as "genvctl devices".
Failure unknownCommand(const std::string& word, const std::string& parent);

/// The failure for an error that parsing a command line of this program ended with.
Failure usageFailure(const CLI::App& app, const CLI::ParseError& error);

} // namespace genv::ctl
