// SPDX-License-Identifier: LGPL-2.1-or-later
// The jobs on other machines that share the home, for "genvctl jobs --machines". genvctl itself
// does not read databases: loading SQLite would slow down all its commands.
#pragma once

#include <string>

namespace genv::jobs {

/// Returns a JSON array with an object for each job, with the ID of its machine. A database that
/// cannot be read is named on standard error. Throws JobError (NotSupported) if there is no home.
[[nodiscard]] std::string jobsOfOtherMachines();

} // namespace genv::jobs
