// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/calls/callers.hpp"

#include "core/base/error.hpp"

namespace genv::dbus {

namespace {

// The maximum size of the cache, so that clients cannot make it grow without bound. Closed
// connections are removed. If there are more living ones, the bus is asked for them again.
constexpr std::size_t maxKnown = 4096;

} // namespace

Caller Callers::of(const raw::Message& call) {
    Caller caller;
    caller.busName = call.sender();
    caller.interactive = call.allowsInteraction();
    const auto known = known_.find(caller.busName);
    const Known& sender =
        known != known_.end() ? known->second : keep(caller.busName, call.askForSender());
    caller.uid = sender.credentials.uid;
    caller.pid = sender.credentials.pid;
    caller.login = sender.login;
    return caller;
}

const Callers::Known& Callers::keep(const std::string& busName,
                                    const std::optional<raw::Credentials>& credentials) {
    if (!credentials)
        core::fail(core::ErrorCode::AccessDenied, "the bus does not know the sender of this call");
    if (known_.size() >= maxKnown)
        known_.clear();
    return known_.insert_or_assign(busName, Known{*credentials}).first->second;
}

std::optional<core::Uid> Callers::known(const std::string& busName) const {
    const auto found = known_.find(busName);
    return found != known_.end() ? std::optional(found->second.credentials.uid) : std::nullopt;
}

core::Uid Callers::learn(const std::string& busName,
                         const std::optional<raw::Credentials>& credentials) {
    return keep(busName, credentials).credentials.uid;
}

std::optional<core::Pid> Callers::pidToLookUp(const std::string& busName) const {
    const auto found = known_.find(busName);
    if (found == known_.end() || found->second.isLookedUp || found->second.credentials.uid != 0 ||
        found->second.credentials.pid == 0)
        return std::nullopt;
    return found->second.credentials.pid;
}

std::optional<bool> Callers::usesSamePids(const std::string& busName) const {
    const auto found = known_.find(busName);
    return found != known_.end() ? found->second.usesSamePids : std::nullopt;
}

void Callers::learnPids(const std::string& busName, bool usesSamePids) {
    const auto found = known_.find(busName);
    if (found != known_.end())
        found->second.usesSamePids = usesSamePids;
}

void Callers::learnLogin(const std::string& busName, std::optional<core::Uid> login) {
    const auto found = known_.find(busName);
    if (found == known_.end())
        return;
    found->second.isLookedUp = true;
    if (login != found->second.credentials.uid) // a login user root is the same as no login user
        found->second.login = login;
}

} // namespace genv::dbus
