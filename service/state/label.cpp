// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/state/label.hpp"

#include "dbus/contract/raw_bus.hpp"

namespace genv::service {

std::string labelOf(const core::EnvironmentId& id) {
    return dbus::raw::encodePath("/", id).substr(1);
}

} // namespace genv::service
