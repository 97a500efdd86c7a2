// SPDX-License-Identifier: LGPL-2.1-or-later
// Objects that are registered with sd-bus when they are first called. There may be thousands, and
// registering all of them would take most of the start-up time.
#pragma once

#include "dbus/contract/raw_bus.hpp"

#include <functional>
#include <string>
#include <vector>

namespace genv::dbus {

class ObjectsOnDemand {
  public:
    /// Registers the object with a path, unless it is registered; returns false if there is none.
    using Register = std::function<bool(const std::string& path)>;
    /// Returns the paths of all objects, for introspection below the prefix.
    using List = std::function<std::vector<std::string>()>;

    /// Handles the objects below a path prefix. The connection must outlive this object.
    ObjectsOnDemand(sdbus::IConnection& connection, const char* prefix, Register registerObject,
                    List list);

  private:
    raw::Slot calls_;
    raw::Slot enumerations_;
};

} // namespace genv::dbus
