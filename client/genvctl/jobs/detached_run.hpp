// SPDX-License-Identifier: LGPL-2.1-or-later
// "run --detach", which is another spelling of "submit".
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace genv::ctl {

/// Hands over the definition of a command line that has "submit".
using WithSubmit = std::function<void(const std::function<void(const CLI::App&)>& use)>;

/// Replaces "run" by "submit" if --detach is among its options, so that it takes all options of
/// "submit". --detach stays among the words: what follows the options is a command.
std::vector<std::string> withDetachedRun(std::vector<std::string> words,
                                         const WithSubmit& withSubmit);

} // namespace genv::ctl
