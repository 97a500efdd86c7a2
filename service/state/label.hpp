// SPDX-License-Identifier: LGPL-2.1-or-later
// What the files of an environment are named after: its id, which may be any text, escaped as in
// the path of its object, so that it is one plain word.
#pragma once

#include "core/environment.hpp"

#include <string>

namespace genv::service {

/// The id escaped as dbus::raw::encodePath() does: letters, digits and underscores alone.
std::string labelOf(const core::EnvironmentId& id);

} // namespace genv::service
