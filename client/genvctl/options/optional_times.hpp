// SPDX-License-Identifier: LGPL-2.1-or-later
// Options whose time may be left out, such as --wait: the time may also be the next word. CLI11
// would take any next word, also the command to run.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace genv::ctl {

/// Returns whether `word` is the time of such an option of this command: "2h" after "--wait", or a
/// number alone.
bool isOptionalTime(const CLI::App& command, const std::string& option, const std::string& word);

/// Joins such an option and a time after it, as in "--wait 2h", to one word. A word is a time only
/// if it is a number with a unit. Words of a command to run stay as they are.
std::vector<std::string> withOptionalTimes(const CLI::App& app, std::vector<std::string> words);

} // namespace genv::ctl
