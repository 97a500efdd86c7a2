// SPDX-License-Identifier: LGPL-2.1-or-later
// Starts genv-jobs before a call. The bus would start it for the call, but does not notice that the
// start fails: the caller would wait for minutes and get no reason. The user's manager knows it.
#pragma once

#include <sdbus-c++/sdbus-c++.h>

namespace genv::jobs {

/// Whether genv-jobs runs. Throws sdbus::Error.
bool hasJobs(sdbus::IConnection& bus);

/// Starts genv-jobs if it does not run. Throws Unavailable with the reason if that fails, and
/// sdbus::Error.
void requireJobs(sdbus::IConnection& bus);

} // namespace genv::jobs
