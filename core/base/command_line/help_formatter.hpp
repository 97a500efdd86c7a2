// SPDX-License-Identifier: LGPL-2.1-or-later
// The layout of --help, common to all programs: at most 80 columns, "--wait[=TIME]" for an optional
// value, "--[no-]env-devices" for a switch, and required arguments in the usage line.
#pragma once

#include <memory>

namespace CLI {
class FormatterBase;
}

namespace genv::core {

/// Returns a formatter for CLI::App::formatter(). Set it before adding subcommands, which inherit
/// it. Footers are printed unchanged.
std::shared_ptr<CLI::FormatterBase> helpFormatter();

} // namespace genv::core
