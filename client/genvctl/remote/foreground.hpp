// SPDX-License-Identifier: LGPL-2.1-or-later
// An ssh that is the person's: it has the terminal, or whatever the standard descriptors are, while
// genvctl stands behind it.
#pragma once

#include <string>
#include <vector>

namespace genv::ctl {

/// Runs a command and waits for its end. Ctrl-C and Ctrl-\ are the command's; when it stops, as
/// with "~^Z", so does this process, and both go on together. Returns its exit status; 128 + N
/// where the signal N ended it. Throws std::system_error.
int runInForeground(const std::vector<std::string>& words);

} // namespace genv::ctl
