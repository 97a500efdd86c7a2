// SPDX-License-Identifier: LGPL-2.1-or-later
// Objects that are registered with sd-bus only once somebody calls them. There may be thousands,
// and to register them all would be most of a start.
#pragma once

#include "dbus/contract/raw_bus.hpp"

#include <functional>
#include <string>
#include <vector>

namespace genv::dbus {

class ObjectsOnDemand {
  public:
    /// Registers the object with a path, unless it is; false when there is none.
    using Register = std::function<bool(const std::string& path)>;
    /// The paths of all objects, for who introspects what is below the prefix.
    using List = std::function<std::vector<std::string>()>;

    /// The objects below a prefix of paths. The connection outlives this.
    ObjectsOnDemand(sdbus::IConnection& connection, const char* prefix, Register registerObject,
                    List list);

  private:
    raw::Slot calls_;
    raw::Slot enumerations_;
};

} // namespace genv::dbus
