// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/objects_on_demand.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

namespace genv::dbus {

namespace {

/// A null-terminated array of strings, each of them malloc(3)ed, as sd-bus takes them.
class StringArray {
  public:
    explicit StringArray(const std::vector<std::string>& strings)
        : texts_(static_cast<char**>(std::calloc(strings.size() + 1, sizeof(char*)))) {
        if (texts_ == nullptr)
            throw std::bad_alloc();
        for (std::size_t i = 0; i < strings.size(); ++i) {
            texts_[i] = ::strdup(strings[i].c_str());
            if (texts_[i] == nullptr) {
                clear();
                throw std::bad_alloc();
            }
        }
    }
    StringArray(const StringArray&) = delete;
    StringArray& operator=(const StringArray&) = delete;
    ~StringArray() { clear(); }

    /// Its new owner frees it.
    char** release() { return std::exchange(texts_, nullptr); }

  private:
    void clear() {
        for (char** text = texts_; text != nullptr && *text != nullptr; ++text)
            std::free(*text);
        std::free(std::exchange(texts_, nullptr));
    }

    char** texts_;
};

} // namespace

ObjectsOnDemand::ObjectsOnDemand(sdbus::IConnection& connection, const char* prefix,
                                 Register registerObject, List list)
    : prefix_(prefix), register_(std::move(registerObject)), list_(std::move(list)) {
    sd_bus* const bus = busOf(connection);
    sd_bus_slot* slot = nullptr;
    require(sd_bus_add_fallback(bus, &slot, prefix, onCall, this),
            std::string("cannot serve the objects below ") + prefix);
    calls_.reset(slot);
    require(sd_bus_add_node_enumerator(bus, &slot, prefix, onEnumeration, this),
            std::string("cannot list the objects below ") + prefix);
    enumerations_.reset(slot);
}

// sd-bus calls this when no object is registered with the path, or when it has no such method.
// Nothing may be thrown through sd-bus. If this registers an object, sd-bus begins anew.
int ObjectsOnDemand::onCall(sd_bus_message* message, void* self, sd_bus_error* error) {
    const auto& objects = *static_cast<ObjectsOnDemand*>(self);
    const char* path = sd_bus_message_get_path(message);
    if (path == objects.prefix_)
        return 0;
    try {
        if (objects.register_(path))
            return 0;
        return sd_bus_error_setf(error, SD_BUS_ERROR_UNKNOWN_OBJECT, "Unknown object '%s'.", path);
    } catch (const std::exception&) {
        return -ENOMEM; // the caller is told so
    }
}

int ObjectsOnDemand::onEnumeration(sd_bus* /*bus*/, const char* /*prefix*/, void* self,
                                   char*** paths, sd_bus_error* /*error*/) {
    try {
        *paths = StringArray(static_cast<ObjectsOnDemand*>(self)->list_()).release();
        return 0;
    } catch (const std::exception&) {
        return -ENOMEM;
    }
}

} // namespace genv::dbus
