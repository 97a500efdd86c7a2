// SPDX-License-Identifier: LGPL-2.1-or-later
// What the people on this machine hold and run, for the preview of `policy check`.
#pragma once

#include "client/genvctl/common/service_program.hpp"

namespace genv::ctl {

class Context;

/// Returns whether the service runs. Does not start it.
bool isServiceRunning();

/// Asks the service. Does not start it: without it there is nobody to compare.
PresentUse findPresentUse(Context& context);

} // namespace genv::ctl
