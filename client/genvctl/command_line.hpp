// SPDX-License-Identifier: LGPL-2.1-or-later
// The command line: from arguments to a command that is run, and from whatever goes wrong to an
// exit status.
#pragma once

namespace genv::ctl {

/// Runs genvctl with main()'s arguments and returns its exit status. Throws nothing.
int runCommandLine(int count, char** arguments) noexcept;

} // namespace genv::ctl
