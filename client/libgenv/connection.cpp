// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/libgenv/connection.hpp"

#include "client/libgenv/service_start.hpp"
#include "dbus/contract/names.hpp"
#include "dbus/contract/raw_bus.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <string_view>
#include <system_error>

namespace genv::client {

namespace contract = dbus::contract;

namespace {

// The bus' own errors for a service that is missing, or that ended before it replied.
constexpr std::array<std::string_view, 8> unavailableNames{
    "org.freedesktop.DBus.Error.ServiceUnknown",
    "org.freedesktop.DBus.Error.NameHasNoOwner",
    "org.freedesktop.DBus.Error.NoReply",
    "org.freedesktop.DBus.Error.NoServer",
    "org.freedesktop.DBus.Error.Disconnected",
    "org.freedesktop.DBus.Error.TimedOut", // the bus started the service, but it never claimed its
                                           // name
    "System.Error.ENOTCONN",
    "System.Error.ECONNRESET",
};
// Errors of the bus itself or of systemd: the service could not be started.
constexpr std::array<std::string_view, 2> unavailablePrefixes{
    "org.freedesktop.DBus.Error.Spawn.",
    "org.freedesktop.systemd1.",
};

bool meansUnavailable(std::string_view name) {
    for (const std::string_view known : unavailableNames) {
        if (name == known)
            return true;
    }
    for (const std::string_view prefix : unavailablePrefixes) {
        if (name.substr(0, prefix.size()) == prefix)
            return true;
    }
    return false;
}

} // namespace

void throwTranslated(const sdbus::Error& error) {
    if (meansUnavailable(error.getName()))
        throw ServiceUnavailable(error.getName(), error.getMessage());
    throw Error(error.getName(), error.getMessage());
}

Connection::Connection(BusAddress address) : address_(std::move(address)) {
    try {
        // The type of the bus makes no difference to a client.
        bus_ = address_ ? sdbus::createSessionBusConnectionWithAddress(address_())
                        : sdbus::createSystemBusConnection();
    } catch (const sdbus::Error& error) {
        if (error.getName() == contract::error::limitsExceeded)
            throw ServiceUnavailable(error.getName(),
                                     "the system bus accepts no more connections of this user");
        throw ServiceUnavailable(error.getName(),
                                 "the system bus cannot be reached: " + error.getMessage());
    }
}

const std::string& Connection::service() const noexcept {
    static const std::string any = contract::busName;
    return followed_ && !followed_->empty() ? *followed_ : any;
}

std::unique_ptr<sdbus::IProxy> Connection::proxy(const std::string& path) {
    return proxy(service(), path);
}

bool Connection::sendsDescriptors() {
    return !address_ && dbus::raw::Bus(*bus_).sendsDescriptors();
}

std::unique_ptr<sdbus::IProxy> Connection::proxy(const std::string& name, const std::string& path) {
    return dbus::compat::makeProxy(*bus_, name, path);
}

sdbus::Slot Connection::addMatch(const std::string& rule, dbus::compat::MessageHandler handler) {
    return dbus::compat::addMatch(*bus_, rule, std::move(handler));
}

void Connection::startNoService(const sdbus::MethodCall& message) {
    dbus::raw::Message(message).startNoService();
}

void Connection::allowInteraction(bool allow) {
    dbus::raw::Bus(*bus_).allowInteraction(allow);
    interactive_ = allow;
}

void Connection::handleArrived() {
    while (dbus::compat::processPending(*bus_)) {
    }
}

bool Connection::waitForArrival(int stopDescriptor) {
    return waitForArrival(*this, *this, stopDescriptor, std::nullopt);
}

bool Connection::waitForArrival(Connection& one, Connection& other, int stopDescriptor,
                                std::optional<std::chrono::milliseconds> maxWait) {
    const auto first = one.bus_->getEventLoopPollData();
    const auto second = other.bus_->getEventLoopPollData();
    // poll() ignores a descriptor of -1.
    std::array<pollfd, 3> descriptors{
        pollfd{stopDescriptor, POLLIN, 0},
        pollfd{first.fd, first.events, 0},
        pollfd{second.fd, second.events, 0},
    };
    const int given = maxWait ? static_cast<int>(std::min<std::int64_t>(
                                    std::max<std::int64_t>(maxWait->count(), 0), 1 << 30))
                              : -1;
    int timeout = -1;
    for (const int wanted : {first.getPollTimeout(), second.getPollTimeout(), given}) {
        if (wanted >= 0)
            timeout = timeout < 0 ? wanted : std::min(timeout, wanted);
    }
    while (::poll(descriptors.data(), descriptors.size(), timeout) < 0) {
        if (errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "waiting for the service");
    }
    return descriptors[0].revents == 0;
}

std::chrono::microseconds Connection::usualTimeout() {
    setReplyTimeout(ReplyTimeout::Usual);
    return std::chrono::microseconds(bus_->getMethodCallTimeout());
}

// One check is enough as long as calls are answered.
void Connection::reachService() {
    if (followed_)
        handleArrived(); // the service may have ended or started meanwhile
    if (followed_ && followed_->empty())
        throw ServiceUnavailable("org.freedesktop.DBus.Error.NameHasNoOwner", "it does not run");
    if (followed_ || hasReachedService_)
        return;
    requireService(*this);
    hasReachedService_ = true;
}

void Connection::fail(const sdbus::Error& error) {
    if (meansUnavailable(error.getName()))
        hasReachedService_ = false;
    throwTranslated(error);
}

void Connection::setReplyTimeout(ReplyTimeout timeout) {
    if (timeout == replyTimeout_)
        return;
    // 0 selects the default timeout of sd-bus.
    bus_->setMethodCallTimeout(
        timeout == ReplyTimeout::Endless ? std::numeric_limits<std::uint64_t>::max() : 0);
    replyTimeout_ = timeout;
}

} // namespace genv::client
