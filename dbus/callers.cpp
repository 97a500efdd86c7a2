// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/callers.hpp"

#include "core/error.hpp"

#include <systemd/sd-bus.h>

#include <memory>

namespace genv::dbus {

namespace {

// sdbus-c++ keeps the message to itself; a derived class may name the member of its base.
struct RawMessage : sdbus::Message {
    static sd_bus_message* of(const sdbus::Message& message) {
        return static_cast<sd_bus_message*>(message.*(&RawMessage::msg_));
    }
};

// A client that sends nothing but calls must not make the table grow: connections that are gone are
// forgotten, and more than this many living ones are asked for again.
constexpr std::size_t mostKnown = 4096;

} // namespace

Caller Callers::of(const sdbus::Message& message) {
    sd_bus_message* raw = RawMessage::of(message);
    Caller caller;
    caller.busName = message.getSender();
    caller.interactive = sd_bus_message_get_allow_interactive_authorization(raw) > 0;
    auto known = known_.find(caller.busName);
    if (known == known_.end()) {
        if (known_.size() >= mostKnown)
            known_.clear();
        known = known_.emplace(caller.busName, ask(raw)).first;
    }
    caller.uid = known->second.uid;
    caller.pid = known->second.pid;
    return caller;
}

Callers::Credentials Callers::ask(sd_bus_message* message) {
    sd_bus_creds* queried = nullptr;
    const int result =
        sd_bus_query_sender_creds(message, SD_BUS_CREDS_EUID | SD_BUS_CREDS_PID, &queried);
    const std::unique_ptr<sd_bus_creds, decltype(&sd_bus_creds_unref)> credentials(
        queried, &sd_bus_creds_unref);
    uid_t uid = 0;
    if (result < 0 || sd_bus_creds_get_euid(credentials.get(), &uid) < 0)
        core::fail(core::ErrorCode::AccessDenied, "the bus does not say who sent this call");
    pid_t pid = 0;
    if (sd_bus_creds_get_pid(credentials.get(), &pid) < 0)
        pid = 0;
    return {uid, static_cast<core::Pid>(pid)};
}

} // namespace genv::dbus
