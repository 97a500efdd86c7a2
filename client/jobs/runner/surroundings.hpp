// SPDX-License-Identifier: LGPL-2.1-or-later
// The variables of an attempt.
#pragma once

#include "client/jobs/files/attempt.hpp"

namespace genv::jobs {

/// Replaces the variables of this process by those of the order, byte for byte, and puts the shims
/// first in PATH.
void setVariables(const AttemptOrder& order);

} // namespace genv::jobs
