// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/bus.hpp"

#include "client/loop.hpp"
#include "core/text.hpp"
#include "dbus/contract/names.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

namespace genv::jobs {

namespace {

namespace contract = dbus::contract;
using event::check;

// The errors with which the bus says that nobody replies any more.
constexpr std::array<std::string_view, 5> lostNames{
    "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.ServiceUnknown",
    "org.freedesktop.DBus.Error.NameHasNoOwner", "org.freedesktop.DBus.Error.Disconnected",
    "org.freedesktop.DBus.Error.NoServer"};

template <typename Handler>
void destroy(void* handler) {
    delete static_cast<Handler*>(handler);
}

// Gives sd-bus a handler, which it keeps until it has released the slot.
template <typename Handler>
void keep(sd_bus_slot* slot, std::unique_ptr<Handler> handler) {
    const dbus::raw::Slot owned(slot);
    check(sd_bus_slot_set_destroy_callback(slot, &destroy<Handler>), "a handler");
    static_cast<void>(handler.release());
    check(sd_bus_slot_set_floating(slot, 1), "a handler");
}

int onReply(sd_bus_message* message, void* handler, sd_bus_error* /*error*/) {
    event::guarded([&] { (*static_cast<Bus::ReplyHandler*>(handler))(BusReply(message)); });
    return 0;
}

int onSignal(sd_bus_message* message, void* handler, sd_bus_error* /*error*/) {
    event::guarded([&] { (*static_cast<Bus::SignalHandler*>(handler))(message); });
    return 0;
}

} // namespace

bool BusReply::isError() const {
    return sd_bus_message_is_method_error(message_, nullptr) > 0;
}

bool BusReply::isError(std::string_view name) const {
    return errorName() == name;
}

bool BusReply::isLost() const {
    return std::find(lostNames.begin(), lostNames.end(), errorName()) != lostNames.end();
}

std::string_view BusReply::errorName() const {
    const sd_bus_error* error = sd_bus_message_get_error(message_);
    return error != nullptr && error->name != nullptr ? error->name : "";
}

std::string BusReply::errorText() const {
    const sd_bus_error* error = sd_bus_message_get_error(message_);
    if (error == nullptr)
        return {};
    return core::printable(error->message != nullptr ? error->message : error->name);
}

Bus::Bus(sdbus::IConnection& connection, sd_event* loop) : bus_(dbus::raw::Bus(connection).get()) {
    check(sd_bus_attach_event(bus_, loop, SD_EVENT_PRIORITY_NORMAL), "a bus");
    check(sd_bus_set_exit_on_disconnect(bus_, 1), "a bus");
}

Bus::~Bus() {
    sd_bus_detach_event(bus_);
}

Bus::Call Bus::call(const std::string& destination, const std::string& path, const char* interface,
                    const char* member) const {
    sd_bus_message* message = nullptr;
    check(sd_bus_message_new_method_call(bus_, &message, destination.c_str(), path.c_str(),
                                         interface, member),
          "a call");
    return Call(message);
}

void Bus::send(const Call& call, std::chrono::microseconds timeout, ReplyHandler handler) const {
    auto kept = std::make_unique<ReplyHandler>(std::move(handler));
    sd_bus_slot* slot = nullptr;
    const std::uint64_t usec = timeout == endless ? std::numeric_limits<std::uint64_t>::max()
                                                  : static_cast<std::uint64_t>(timeout.count());
    check(sd_bus_call_async(bus_, &slot, call.get(), &onReply, kept.get(), usec), "a call");
    keep(slot, std::move(kept));
}

void Bus::listen(const std::string& rule, SignalHandler handler) const {
    auto kept = std::make_unique<SignalHandler>(std::move(handler));
    sd_bus_slot* slot = nullptr;
    check(sd_bus_add_match_async(bus_, &slot, rule.c_str(), &onSignal, nullptr, kept.get()),
          "a match of the bus");
    keep(slot, std::move(kept));
}

void Bus::watchName(const std::string& name,
                    const std::function<void(const std::string&)>& handler) const {
    listen("type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
           "member='NameOwnerChanged',arg0='" +
               name + "'",
           [handler](sd_bus_message* signal) {
               const char* changed = nullptr;
               const char* before = nullptr;
               const char* after = nullptr;
               check(sd_bus_message_read(signal, "sss", &changed, &before, &after), "a signal");
               handler(after);
           });
    const Call question =
        call(contract::busDriver, contract::busDriverPath, contract::busDriver, "GetNameOwner");
    check(sd_bus_message_append(question.get(), "s", name.c_str()), "a call");
    send(question, endless, [handler](const BusReply& reply) {
        const char* owner = "";
        if (!reply.isError())
            check(sd_bus_message_read(reply.message(), "s", &owner), "a reply of the bus");
        handler(owner);
    });
}

} // namespace genv::jobs
