// SPDX-License-Identifier: LGPL-2.1-or-later
// The environments on the bus. An object takes some 14 KiB, and few of thousands are ever called,
// so an object is created when it is first called or published, and the oldest are destroyed when
// there are more than `maxObjects`.
#pragma once

#include "dbus/calls/bus_context.hpp"
#include "dbus/environment/environment_object.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

namespace genv::dbus {

class EnvironmentObjects {
  public:
    static constexpr std::size_t maxObjects = 256;

    /// `onCreated` is called after an object was created: trim() is to be called later. The other
    /// arguments must outlive this object.
    EnvironmentObjects(sdbus::IConnection& connection, const BusContext& context,
                       std::function<void()> onCreated);

    /// Returns the object of an environment, or null if the ledger has no such environment. It is
    /// valid until the next call of trim() or retire().
    EnvironmentObject* find(const core::EnvironmentId& id);
    /// Registers the object with this path. Returns false if no environment has it.
    bool registerAt(const std::string& path);
    /// Returns the object of an environment that has ended, with its last values.
    std::shared_ptr<EnvironmentObject> retire(const core::EnvironmentRecord& former);
    /// Destroys the oldest objects beyond `maxObjects`. No handler of an object may be running.
    void trim();

  private:
    sdbus::IConnection& connection_;
    const BusContext& context_;
    std::function<void()> onCreated_;
    std::unordered_map<core::EnvironmentId, std::unique_ptr<EnvironmentObject>> objects_;
    std::deque<core::EnvironmentId> oldestFirst_; ///< the keys of `objects_`
};

} // namespace genv::dbus
