// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/callers.hpp"

#include "core/error.hpp"
#include "dbus/raw_message.hpp"

#include <memory>
#include <string_view>

namespace genv::dbus {

namespace {

// A client that sends nothing but calls must not make the table grow: connections that are gone are
// forgotten, and more than this many living ones are asked for again.
constexpr std::size_t mostKnown = 4096;

} // namespace

Caller Callers::of(const sdbus::Message& message) {
    return of(RawMessage::of(message));
}

Caller Callers::of(sd_bus_message* raw) {
    Caller caller;
    const char* sender = sd_bus_message_get_sender(raw);
    caller.busName = sender != nullptr ? sender : "";
    caller.interactive = sd_bus_message_get_allow_interactive_authorization(raw) > 0;
    const auto known = known_.find(caller.busName);
    const Credentials& credentials =
        known != known_.end() ? known->second : keep(caller.busName, ask(raw));
    caller.uid = credentials.uid;
    caller.pid = credentials.pid;
    return caller;
}

const Callers::Credentials& Callers::keep(const std::string& busName, Credentials credentials) {
    if (known_.size() >= mostKnown)
        known_.clear();
    return known_.insert_or_assign(busName, credentials).first->second;
}

std::optional<core::Uid> Callers::known(const std::string& busName) const {
    const auto found = known_.find(busName);
    return found != known_.end() ? std::optional(found->second.uid) : std::nullopt;
}

core::Uid Callers::learn(const std::string& busName, sd_bus_message* credentials) {
    std::optional<core::Uid> uid;
    core::Pid pid = 0;
    if (sd_bus_message_is_method_error(credentials, nullptr) == 0 &&
        sd_bus_message_enter_container(credentials, 'a', "{sv}") > 0) {
        while (sd_bus_message_enter_container(credentials, 'e', "sv") > 0) {
            const char* key = "";
            std::uint32_t value = 0;
            sd_bus_message_read_basic(credentials, 's', &key);
            const std::string_view name = key;
            if (name != "UnixUserID" && name != "ProcessID")
                sd_bus_message_skip(credentials, "v");
            else if (sd_bus_message_read(credentials, "v", "u", &value) > 0)
                name == "ProcessID" ? static_cast<void>(pid = value)
                                    : static_cast<void>(uid = value);
            sd_bus_message_exit_container(credentials);
        }
    }
    if (!uid)
        core::fail(core::ErrorCode::AccessDenied, "the bus does not say who sent this call");
    return keep(busName, {*uid, pid}).uid;
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
