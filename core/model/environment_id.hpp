// SPDX-License-Identifier: LGPL-2.1-or-later
// The id of an environment, for those who name environments without knowing them.
#pragma once

#include <string>

namespace genv::core {

using EnvironmentId = std::string;

} // namespace genv::core
