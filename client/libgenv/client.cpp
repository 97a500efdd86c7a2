// SPDX-License-Identifier: LGPL-2.1-or-later
// The requests that do not wait, and the subscriptions. queries.cpp reads the service's state, and
// waiting_requests.cpp has the requests that wait for devices, for a lock or for a password.
#include "genv/client.hpp"

#include "client/libgenv/client_implementation.hpp"
#include "client/libgenv/conversions.hpp"
#include "client/libgenv/option_contents.hpp"
#include "client/libgenv/process_arguments.hpp"
#include "client/libgenv/proxies.hpp"
#include "dbus/contract/names.hpp"

#include <unistd.h>

#include <chrono>

namespace genv {

namespace contract = dbus::contract;
using client::ReplyTimeout;

Client::Client() : implementation_(std::make_unique<Implementation>()) {}
Client::Client(std::function<std::string()> address)
    : implementation_(std::make_unique<Implementation>(std::move(address))) {}
Client::Client(Client&& other) noexcept = default;
Client& Client::operator=(Client&& other) noexcept = default;
Client::~Client() = default;

void Client::allowInteraction(bool allow) {
    implementation_->connection().call(
        ReplyTimeout::Usual, [&] { implementation_->connection().allowInteraction(allow); });
}

std::uint32_t Client::uid() {
    client::Connection& connection = implementation_->connection();
    return connection.call(ReplyTimeout::Usual, [&] {
        const auto bus = connection.proxy(contract::busDriver, contract::busDriverPath);
        std::uint32_t uid = 0;
        bus->callMethod("GetConnectionUnixUser")
            .onInterface(contract::busDriver)
            .withArguments(connection.uniqueName())
            .storeResultsTo(uid);
        return uid;
    });
}

std::string Client::activate(const ActivateOptions& options) {
    if (options.waits())
        return *activate(options, Waiting{});
    return implementation_->onManager(ReplyTimeout::Endless, [&](client::ManagerProxy& manager) {
        client::Dictionary arguments = client::toDictionary(options);
        client::namePrecisely(implementation_->connection(), arguments);
        return std::get<0>(manager.Activate(arguments));
    });
}

std::vector<std::uint32_t> Client::attach(const std::string& id, const AttachOptions& options) {
    if (options.waits())
        return *attach(id, options, Waiting{});
    return implementation_->onEnvironment(ReplyTimeout::Endless, id, [&](sdbus::IProxy& proxy) {
        return client::EnvironmentProxy(proxy).Attach(client::toDictionary(options));
    });
}

std::vector<std::uint32_t> Client::detach(const std::string& id,
                                          const std::vector<std::uint32_t>& indices) {
    return implementation_->onEnvironment(ReplyTimeout::Endless, id, [&](sdbus::IProxy& proxy) {
        return client::EnvironmentProxy(proxy).Detach(indices);
    });
}

void Client::configure(const std::string& id, const ConfigurationChange& change) {
    implementation_->onEnvironment(ReplyTimeout::Endless, id, [&](sdbus::IProxy& proxy) {
        client::EnvironmentProxy(proxy).Configure(change.values().arguments, change.values().unset);
    });
}

void Client::extend(const std::string& id, std::chrono::seconds lifetime) {
    configure(id, ConfigurationChange().setLifetime(lifetime));
}

void Client::addProcess(const std::string& id, std::uint32_t pid) {
    client::Connection& connection = implementation_->connection();
    implementation_->onEnvironment(ReplyTimeout::Endless, id, [&](sdbus::IProxy& proxy) {
        const bool isSelf = pid == static_cast<std::uint32_t>(::getpid());
        client::EnvironmentProxy(proxy).AddProcess(isSelf ? client::ownPid(connection) : pid);
    });
}

void Client::removeProcess(const std::string& id, std::uint32_t pid) {
    client::Connection& connection = implementation_->connection();
    implementation_->onEnvironment(ReplyTimeout::Endless, id, [&](sdbus::IProxy& proxy) {
        client::EnvironmentProxy environment(proxy);
        if (const auto process = client::pidfdFor(connection, pid)) {
            environment.RemoveProcessByPIDFD(*process);
            return;
        }
        environment.RemoveProcess(pid);
    });
}

void Client::addKernel(const std::string& id, const std::string& kernel) {
    implementation_->onEnvironment(ReplyTimeout::Endless, id, [&](sdbus::IProxy& proxy) {
        client::EnvironmentProxy(proxy).AddKernel(kernel);
    });
}

void Client::removeKernel(const std::string& id, const std::string& kernel) {
    implementation_->onEnvironment(ReplyTimeout::Endless, id, [&](sdbus::IProxy& proxy) {
        client::EnvironmentProxy(proxy).RemoveKernel(kernel);
    });
}

void Client::deactivate(const std::string& id) {
    implementation_->onEnvironment(ReplyTimeout::Endless, id, [](sdbus::IProxy& proxy) {
        client::EnvironmentProxy(proxy).Deactivate();
    });
}

void Client::detachDevice(std::uint32_t index, const std::string& environment) {
    implementation_->onDevice(ReplyTimeout::Endless, index, [&](sdbus::IProxy& proxy) {
        client::DeviceProxy(proxy).Detach(environment);
    });
}

void Client::cancelWait(std::uint64_t ticket) {
    implementation_->onManager(ReplyTimeout::Endless,
                               [&](client::ManagerProxy& manager) { manager.CancelWait(ticket); });
}

void Client::terminateProcess(std::uint32_t pid) {
    implementation_->onManager(ReplyTimeout::Endless, [&](client::ManagerProxy& manager) {
        manager.TerminateProcess(pid);
    });
}

void Client::reload() {
    implementation_->onManager(ReplyTimeout::Endless,
                               [](client::ManagerProxy& manager) { manager.Reload(); });
}

std::vector<EnforcementAction> Client::enforce(const EnforceOptions& options) {
    return implementation_->onManager(ReplyTimeout::Endless, [&](client::ManagerProxy& manager) {
        return client::toActions(manager.Enforce(options.values().arguments));
    });
}

std::vector<EnforcementAction> Client::enforceRepeatedly(const EnforceOptions& options,
                                                         std::chrono::seconds interval) {
    return implementation_->enforceRepeatedly(options, interval);
}

std::optional<std::vector<EnforcementAction>> Client::nextEnforcement(int stopDescriptor) {
    return implementation_->nextEnforcement(stopDescriptor);
}

std::vector<EnforcementAction> Client::execute(const std::string& report) {
    return implementation_->onManager(ReplyTimeout::Endless, [&](client::ManagerProxy& manager) {
        return client::toActions(manager.Execute(report));
    });
}

void Client::listenForNotices(std::uint32_t uid) {
    implementation_->listenForNotices(uid);
}

std::vector<Notice> Client::takeNotices() {
    return implementation_->takeNotices();
}

std::optional<Notice> Client::nextNotice(int stopDescriptor) {
    return implementation_->nextNotice(stopDescriptor);
}

void Client::listenForEvents() {
    implementation_->listenForEvents(client::OwnerNames::Wanted);
}

void Client::listenForEventsOnly() {
    implementation_->listenForEvents(client::OwnerNames::Unwanted);
}

bool Client::serviceIsThere() {
    return implementation_->serviceIsThere();
}

bool Client::serviceIsInstalled() {
    return implementation_->serviceIsInstalled();
}

std::optional<Event> Client::nextEvent(int stopDescriptor) {
    return implementation_->nextEvent(stopDescriptor);
}

} // namespace genv
