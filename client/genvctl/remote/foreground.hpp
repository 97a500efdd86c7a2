// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs an ssh in the foreground, with the terminal or whatever the standard descriptors are, while
// genvctl waits for it.
#pragma once

#include <string>
#include <vector>

namespace genv::ctl {

/// Runs a command and waits for its end. Ctrl-C and Ctrl-\ affect only the command. When the
/// command stops, as ssh does on "~^Z", this process and its job stop as well, and they are
/// continued together. With `staysAwake`, the command is continued at once, because nothing would
/// continue it later. Returns the exit status of the command, or 128 + N if signal N ended it.
/// Throws std::system_error.
int runInForeground(const std::vector<std::string>& words, bool staysAwake);

} // namespace genv::ctl
