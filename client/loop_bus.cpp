// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/loop_bus.hpp"

#include "client/loop.hpp"
#include "core/base/text.hpp"
#include "dbus/contract/names.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace genv::event {

namespace {

namespace contract = dbus::contract;

// The errors with which the bus says that nobody replies any more.
constexpr std::array<std::string_view, 5> lostNames{
    "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.ServiceUnknown",
    "org.freedesktop.DBus.Error.NameHasNoOwner", "org.freedesktop.DBus.Error.Disconnected",
    "org.freedesktop.DBus.Error.NoServer"};

} // namespace

bool BusReply::isLost() const {
    return std::find(lostNames.begin(), lostNames.end(), errorName()) != lostNames.end();
}

std::string_view BusReply::errorName() const {
    return error_ != nullptr ? std::string_view(error_->getName()) : std::string_view();
}

std::string BusReply::errorText() const {
    if (error_ == nullptr)
        return {};
    return core::printable(error_->getMessage().empty() ? error_->getName() : error_->getMessage());
}

LoopBus::LoopBus(sdbus::IConnection& connection, sd_event* loop, AtDisconnect atDisconnect)
    : connection_(connection), bus_(connection),
      sender_(dbus::compat::makeProxy(connection, contract::busDriver, contract::busDriverPath)) {
    bus_.attach(loop, atDisconnect == AtDisconnect::EndLoop);
}

LoopBus::~LoopBus() {
    bus_.detach();
}

sdbus::MethodCall LoopBus::call(const std::string& destination, const std::string& path,
                                const char* interface, const char* member) const {
    const auto object = dbus::compat::makeProxy(connection_, destination, path);
    return dbus::compat::makeCall(*object, interface, member);
}

sdbus::MethodCall LoopBus::callBus(const char* member) const {
    return dbus::compat::makeCall(*sender_, contract::busDriver, member);
}

void LoopBus::send(const sdbus::MethodCall& call, std::chrono::microseconds timeout,
                   ReplyHandler handler) const {
    dbus::compat::send(
        *sender_, call, timeout,
        [handler = std::move(handler)](sdbus::Message& reply, const sdbus::Error* error) {
            guarded([&] { handler(BusReply(reply, error)); });
        });
}

void LoopBus::listen(const std::string& rule, SignalHandler handler) const {
    matches_.push_back(dbus::compat::addMatch(
        connection_, rule, [handler = std::move(handler)](sdbus::Message& signal) {
            guarded([&] { handler(signal); });
        }));
}

void LoopBus::watchName(const std::string& name,
                        const std::function<void(const std::string&)>& handler) const {
    listen("type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
           "member='NameOwnerChanged',arg0='" +
               name + "'",
           [handler](sdbus::Message& signal) {
               std::string changed;
               std::string before;
               std::string after;
               signal >> changed >> before >> after;
               handler(after);
           });
    sdbus::MethodCall question = callBus("GetNameOwner");
    question << name;
    send(question, endless, [handler](const BusReply& reply) {
        std::string owner;
        if (!reply.isError())
            reply.message() >> owner;
        handler(owner);
    });
}

} // namespace genv::event
