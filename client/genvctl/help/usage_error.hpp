// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts errors of the command line parser to genvctl's own messages. CLI11 has its own wording
// for them; users and scripts get the same form for all errors.
#pragma once

#include "client/genvctl/common/exit_status.hpp"

#include <string>

namespace CLI {
class App;
class ParseError;
} // namespace CLI

namespace genv::ctl {

/// Returns the failure for a word that is not a command of `parent`, such as "genvctl devices".
Failure unknownCommand(const std::string& word, const std::string& parent);

/// Returns the failure for an error of parsing this program's command line.
Failure usageFailure(const CLI::App& app, const CLI::ParseError& error);

} // namespace genv::ctl
