// SPDX-License-Identifier: LGPL-2.1-or-later
// An ssh that is the person's: it has the terminal, or whatever the standard descriptors are, while
// genvctl stands behind it.
#pragma once

#include <string>
#include <vector>

namespace genv::ctl {

/// Runs a command and waits for its end. Ctrl-C and Ctrl-\ are the command's. When it stops, as ssh
/// does with "~^Z", this process and its job do, too, and all go on together; where it
/// `staysAwake`, since nobody would wake it, the command goes on at once. Returns its exit status;
/// 128 + N where the signal N ended it. Throws std::system_error.
int runInForeground(const std::vector<std::string>& words, bool staysAwake);

} // namespace genv::ctl
