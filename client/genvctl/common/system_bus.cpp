// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/common/system_bus.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace genv::ctl {

namespace {

constexpr BusObject busDriver{"org.freedesktop.DBus", "/org/freedesktop/DBus",
                              "org.freedesktop.DBus"};

std::uint64_t now() {
    using namespace std::chrono;
    return static_cast<std::uint64_t>(
        duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count());
}

[[noreturn]] void failBus(int error) {
    throw NoBus(std::string("the system bus cannot be reached: ") + std::strerror(-error));
}

void require(int result, const char* what) {
    if (result < 0)
        throw CallFailed("", std::string(what) + ": " + std::strerror(-result));
}

} // namespace

bool CallFailed::isLate() const {
    return name_ == "org.freedesktop.DBus.Error.NoReply" ||
           name_ == "org.freedesktop.DBus.Error.Timeout" || name_ == "System.Error.ETIMEDOUT";
}

SystemBus::SystemBus(std::chrono::milliseconds timeout)
    : deadline_(now() + static_cast<std::uint64_t>(std::chrono::microseconds(timeout).count())) {
    sd_bus* bus = nullptr;
    if (const int error = sd_bus_open_system(&bus); error < 0)
        failBus(error);
    bus_.reset(bus);
    int ready = 0;
    while ((ready = sd_bus_is_ready(bus)) == 0) {
        int done = sd_bus_process(bus, nullptr);
        if (done == 0) {
            if (remainingTime() <= 1)
                throw NoBus("the system bus does not answer");
            done = sd_bus_wait(bus, remainingTime());
        }
        if (done < 0)
            failBus(done);
    }
    if (ready < 0)
        failBus(ready);
}

// Must not return 0, which selects the default of sd-bus.
std::uint64_t SystemBus::remainingTime() const {
    const std::uint64_t moment = now();
    return moment < deadline_ ? deadline_ - moment : 1;
}

SystemBus::Message SystemBus::prepare(const BusObject& object, const char* method,
                                      bool start) const {
    sd_bus_message* raw = nullptr;
    require(sd_bus_message_new_method_call(bus_.get(), &raw, object.service, object.path,
                                           object.interface, method),
            method);
    Message message(raw);
    sd_bus_message_set_auto_start(raw, start ? 1 : 0);
    return message;
}

SystemBus::Message SystemBus::call(const BusObject& object, const char* method,
                                   const char* argument, bool start) const {
    const Message message = prepare(object, method, start);
    if (argument != nullptr)
        require(sd_bus_message_append(message.get(), "s", argument), method);
    return send(message);
}

SystemBus::Message SystemBus::send(const Message& call) const {
    sd_bus_error error{};
    sd_bus_message* reply = nullptr;
    if (sd_bus_call(bus_.get(), call.get(), remainingTime(), &error, &reply) < 0) {
        const CallFailed failure(error.name != nullptr ? error.name : "",
                                 error.message != nullptr ? error.message : "the call failed");
        sd_bus_error_free(&error);
        throw failure;
    }
    return Message(reply);
}

SystemBus::Message SystemBus::property(const BusObject& object, const char* name,
                                       const char* type) const {
    const Message message =
        prepare({object.service, object.path, "org.freedesktop.DBus.Properties"}, "Get");
    require(sd_bus_message_append(message.get(), "ss", object.interface, name), name);
    Message answer = send(message);
    require(sd_bus_message_enter_container(answer.get(), 'v', type), name);
    return answer;
}

std::string SystemBus::text(const BusObject& object, const char* name) const {
    const Message reply = property(object, name, "s");
    const char* value = nullptr;
    require(sd_bus_message_read(reply.get(), "s", &value), name);
    return value;
}

std::int32_t SystemBus::number(const BusObject& object, const char* name) const {
    const Message reply = property(object, name, "i");
    std::int32_t value = 0;
    require(sd_bus_message_read(reply.get(), "i", &value), name);
    return value;
}

std::vector<std::string> SystemBus::texts(const BusObject& object, const char* name) const {
    const Message reply = property(object, name, "as");
    require(sd_bus_message_enter_container(reply.get(), 'a', "s"), name);
    std::vector<std::string> values;
    for (const char* value = nullptr; sd_bus_message_read(reply.get(), "s", &value) > 0;)
        values.emplace_back(value);
    return values;
}

std::uint32_t SystemBus::count(const BusObject& object, const char* name) const {
    const Message reply = property(object, name, "u");
    std::uint32_t value = 0;
    require(sd_bus_message_read(reply.get(), "u", &value), name);
    return value;
}

std::uint64_t SystemBus::amount(const BusObject& object, const char* name) const {
    const Message reply = property(object, name, "t");
    std::uint64_t value = 0;
    require(sd_bus_message_read(reply.get(), "t", &value), name);
    return value;
}

bool SystemBus::hasOwner(const char* name) const {
    const Message reply = call(busDriver, "NameHasOwner", name);
    int has = 0;
    require(sd_bus_message_read(reply.get(), "b", &has), name);
    return has != 0;
}

bool SystemBus::canStart(const char* name) const {
    const Message reply = call(busDriver, "ListActivatableNames");
    require(sd_bus_message_enter_container(reply.get(), 'a', "s"), name);
    const char* known = nullptr;
    while (sd_bus_message_read(reply.get(), "s", &known) > 0) {
        if (std::strcmp(known, name) == 0)
            return true;
    }
    return false;
}

} // namespace genv::ctl
