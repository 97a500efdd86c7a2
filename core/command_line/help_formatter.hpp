// SPDX-License-Identifier: LGPL-2.1-or-later
// The layout of --help, the same for every program: at most 80 columns, "--wait[=TIME]" for a value
// that may be left out, "--[no-]env-devices" for a switch, and the usage line shows what is
// required.
#pragma once

#include <memory>

namespace CLI {
class FormatterBase;
}

namespace genv::core {

/// A formatter for CLI::App::formatter(). Set it before adding subcommands, which inherit it.
/// Footers are printed as they are.
std::shared_ptr<CLI::FormatterBase> helpFormatter();

} // namespace genv::core
