// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/callers.hpp"

#include "core/error.hpp"

namespace genv::dbus {

namespace {

// A client that sends nothing but calls must not make the table grow: connections that are gone are
// forgotten, and more than this many living ones are asked for again.
constexpr std::size_t mostKnown = 4096;

} // namespace

Caller Callers::of(const raw::Message& call) {
    Caller caller;
    caller.busName = call.sender();
    caller.interactive = call.allowsInteraction();
    const auto known = known_.find(caller.busName);
    const raw::Credentials& credentials =
        known != known_.end() ? known->second : keep(caller.busName, call.askForSender());
    caller.uid = credentials.uid;
    caller.pid = credentials.pid;
    return caller;
}

const raw::Credentials& Callers::keep(const std::string& busName,
                                      const std::optional<raw::Credentials>& credentials) {
    if (!credentials)
        core::fail(core::ErrorCode::AccessDenied, "the bus does not know the sender of this call");
    if (known_.size() >= mostKnown)
        known_.clear();
    return known_.insert_or_assign(busName, *credentials).first->second;
}

std::optional<core::Uid> Callers::known(const std::string& busName) const {
    const auto found = known_.find(busName);
    return found != known_.end() ? std::optional(found->second.uid) : std::nullopt;
}

core::Uid Callers::learn(const std::string& busName,
                         const std::optional<raw::Credentials>& credentials) {
    return keep(busName, credentials).uid;
}

} // namespace genv::dbus
