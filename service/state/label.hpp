// SPDX-License-Identifier: LGPL-2.1-or-later
// The names of an environment's files. An id may be any text, so it is escaped as in the object
// path and becomes one plain word.
#pragma once

#include "core/model/environment.hpp"

#include <string>

namespace genv::service {

/// Returns the id escaped as by dbus::raw::encodePath(): only letters, digits and underscores.
std::string labelOf(const core::EnvironmentId& id);

} // namespace genv::service
