// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/common/system_bus.hpp"

#include "dbus/contract/raw_bus.hpp"

#include <algorithm>
#include <system_error>
#include <vector>

namespace genv::ctl {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr BusObject busDriver{dbus::contract::busDriver, dbus::contract::busDriverPath,
                              dbus::contract::busDriver};

} // namespace

CallFailed::CallFailed(const sdbus::Error& error)
    : std::runtime_error(error.getMessage().empty() ? "the call failed" : error.getMessage()),
      name_(error.getName()) {}

bool CallFailed::isLate() const {
    return name_ == "org.freedesktop.DBus.Error.NoReply" ||
           name_ == "org.freedesktop.DBus.Error.Timeout" || name_ == "System.Error.ETIMEDOUT";
}

SystemBus::SystemBus(std::chrono::milliseconds timeout) : deadline_(Clock::now() + timeout) {
    try {
        dbus::raw::awaitSystemBus(timeout);
        connection_ = sdbus::createSystemBusConnection();
    } catch (const std::system_error& error) {
        throw NoBus(error.code() == std::errc::timed_out
                        ? "the system bus does not answer"
                        : "the system bus cannot be reached: " + error.code().message());
    } catch (const sdbus::Error& error) {
        throw NoBus("the system bus cannot be reached: " + error.getMessage());
    }
}

SystemBus::Call SystemBus::prepare(const BusObject& object, const char* method) const {
    auto proxy = dbus::compat::makeProxy(*connection_, object.service, object.path);
    sdbus::MethodCall message = dbus::compat::makeCall(*proxy, object.interface, method);
    if (!object.startsService)
        dbus::raw::Message(message).startNoService();
    return {std::move(proxy), std::move(message)};
}

sdbus::MethodReply SystemBus::send(const Call& call) const {
    // 0 would select the default timeout.
    const auto rest = std::chrono::duration_cast<microseconds>(deadline_ - Clock::now());
    return call.proxy->callMethod(call.message, std::max(rest, microseconds(1)));
}

bool SystemBus::hasOwner(const char* name) const {
    return call<bool>(busDriver, "NameHasOwner", std::string(name));
}

bool SystemBus::canStart(const char* name) const {
    const auto known = call<std::vector<std::string>>(busDriver, "ListActivatableNames");
    return std::ranges::find(known, name) != known.end();
}

} // namespace genv::ctl
