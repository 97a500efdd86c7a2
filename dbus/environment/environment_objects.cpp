// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/environment/environment_objects.hpp"

#include "dbus/calls/paths.hpp"

#include <utility>

namespace genv::dbus {

EnvironmentObjects::EnvironmentObjects(sdbus::IConnection& connection, const BusContext& context,
                                       std::function<void()> onCreated)
    : connection_(connection), context_(context), onCreated_(std::move(onCreated)) {}

EnvironmentObject* EnvironmentObjects::find(const core::EnvironmentId& id) {
    if (const auto known = objects_.find(id); known != objects_.end())
        return known->second.get();
    const core::EnvironmentRecord* environment = context_.sharing.ledger.find(id);
    if (environment == nullptr)
        return nullptr;
    auto object = std::make_unique<EnvironmentObject>(connection_, context_, *environment);
    oldestFirst_.push_back(id);
    onCreated_();
    return objects_.emplace(id, std::move(object)).first->second.get();
}

bool EnvironmentObjects::registerAt(const std::string& path) {
    const auto id = environmentIdOf(path);
    // An id can be escaped as a path in several ways, but only one of them is the object's path.
    EnvironmentObject* object = id && environmentPath(*id) == path ? find(*id) : nullptr;
    if (object != nullptr)
        object->ensureRegistered();
    return object != nullptr;
}

std::shared_ptr<EnvironmentObject>
EnvironmentObjects::retire(const core::EnvironmentRecord& former) {
    auto known = objects_.extract(former.id);
    std::shared_ptr<EnvironmentObject> object;
    if (known.empty())
        object = std::make_shared<EnvironmentObject>(connection_, context_, former);
    else
        object = std::move(known.mapped());
    std::erase(oldestFirst_, former.id);
    object->retire(former);
    return object;
}

void EnvironmentObjects::trim() {
    while (objects_.size() > maxObjects) {
        objects_.erase(oldestFirst_.front());
        oldestFirst_.pop_front();
    }
}

} // namespace genv::dbus
