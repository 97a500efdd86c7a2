// SPDX-License-Identifier: LGPL-2.1-or-later
#include "genv/client.hpp"

#include "client/libgenv/client_implementation.hpp"
#include "client/libgenv/conversions.hpp"
#include "client/libgenv/option_values.hpp"
#include "client/libgenv/proxies.hpp"
#include "dbus/contract/names.hpp"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <limits>

namespace genv {

namespace contract = dbus::contract;
using client::ReplyTimeout;

namespace {

/// The rest of a timeout, for a call that has to be made again.
class RemainingTime {
  public:
    explicit RemainingTime(std::optional<std::chrono::seconds> all) : all_(all) {}

    /// Returns at least 1 s, the smallest timeout that the service accepts.
    [[nodiscard]] std::optional<std::chrono::seconds> get() const {
        if (!all_)
            return std::nullopt;
        const auto remaining = *all_ - (std::chrono::steady_clock::now() - began_);
        return std::max(std::chrono::ceil<std::chrono::seconds>(remaining),
                        std::min(*all_, std::chrono::seconds{1}));
    }

  private:
    std::optional<std::chrono::seconds> all_;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

} // namespace

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

std::vector<EnvironmentEntry> Client::environments() {
    return implementation_->onManager(ReplyTimeout::Usual, [](client::ManagerProxy& manager) {
        std::vector<EnvironmentEntry> entries;
        for (auto& row : manager.ListEnvironments()) {
            EnvironmentEntry entry{std::move(row.get<0>()),      row.get<1>(),
                                   std::move(row.get<2>()),      std::nullopt,
                                   client::toTime(row.get<4>()), std::move(row.get<5>())};
            if (!row.get<3>().empty())
                entry.name = std::move(row.get<3>());
            entries.push_back(std::move(entry));
        }
        return entries;
    });
}

std::vector<Environment> Client::environmentDetails() {
    return client::toEnvironments(implementation_->managedObjects());
}

Environment Client::environment(const std::string& id) {
    return implementation_->onEnvironment(ReplyTimeout::Usual, id, [](sdbus::IProxy& proxy) {
        return client::toEnvironment(
            client::allProperties(proxy, client::EnvironmentProxy::INTERFACE_NAME));
    });
}

std::map<std::string, std::string> Client::parents() {
    return client::toParents(implementation_->managedObjects());
}

std::optional<std::string> Client::parentOf(const std::string& id) {
    return implementation_->onEnvironment(ReplyTimeout::Usual, id, [](sdbus::IProxy& proxy) {
        return client::toParent(
            client::allProperties(proxy, client::EnvironmentProxy::INTERFACE_NAME));
    });
}

std::string Client::environmentOfProcess(std::uint32_t pid) {
    return implementation_->onManager(ReplyTimeout::Usual, [&](client::ManagerProxy& manager) {
        return client::environmentId(manager.GetEnvironmentByPID(pid));
    });
}

std::vector<Device> Client::devices() {
    return implementation_->onManager(ReplyTimeout::Usual, [](client::ManagerProxy& manager) {
        std::vector<Device> devices;
        for (auto& row : manager.ListDevices())
            devices.push_back(
                {row.get<0>(), std::move(row.get<1>()), std::move(row.get<2>()), row.get<3>()});
        return devices;
    });
}

std::vector<Attachment> Client::attachments() {
    return implementation_->onManager(ReplyTimeout::Usual, [](client::ManagerProxy& manager) {
        std::vector<Attachment> attachments;
        for (auto& row : manager.ListAttachments()) {
            Attachment attachment{row.get<0>(), std::move(row.get<1>()), std::nullopt, std::nullopt,
                                  client::toTime(row.get<4>())};
            if (!row.get<2>().empty())
                attachment.environmentName = std::move(row.get<2>());
            if (row.get<3>() != 0)
                attachment.shareBytes = row.get<3>();
            attachments.push_back(std::move(attachment));
        }
        return attachments;
    });
}

std::vector<ComputeProcess> Client::processes() {
    return implementation_->onManager(ReplyTimeout::Usual, [](client::ManagerProxy& manager) {
        std::vector<ComputeProcess> processes;
        for (auto& row : manager.ListProcesses()) {
            ComputeProcess process{row.get<0>(), row.get<1>(), std::nullopt, {}};
            if (!row.get<2>().empty())
                process.environment = std::move(row.get<2>());
            for (const auto& use : row.get<3>()) {
                DeviceUse known{use.get<0>(), use.get<1>()};
                if (use.get<1>() == std::numeric_limits<std::uint64_t>::max())
                    known.usedMemoryBytes.reset();
                process.uses.push_back(known);
            }
            processes.push_back(std::move(process));
        }
        return processes;
    });
}

std::vector<QueueEntry> Client::queue() {
    return implementation_->onManager(ReplyTimeout::Usual, [](client::ManagerProxy& manager) {
        return client::toQueue(manager.ListQueue());
    });
}

Overview Client::overview() {
    return client::toOverview(implementation_->managedObjects(client::StartsService::No));
}

std::map<std::uint32_t, std::string> Client::lockHolders() {
    return client::toLockHolders(implementation_->managedObjects());
}

std::map<std::uint32_t, std::string> Client::reservations() {
    return client::toReservations(implementation_->managedObjects());
}

std::string Client::snapshot() {
    return implementation_->onManager(
        ReplyTimeout::Usual, [](client::ManagerProxy& manager) { return manager.Snapshot(); });
}

ServiceStatus Client::status() {
    return implementation_->onManager(ReplyTimeout::Usual, [&](client::ManagerProxy&) {
        return client::toServiceStatus(client::allProperties(implementation_->managerObject(),
                                                             client::ManagerProxy::INTERFACE_NAME));
    });
}

std::map<std::string, Limit> Client::limits(std::uint32_t uid) {
    return implementation_->onManager(ReplyTimeout::Usual, [&](client::ManagerProxy& manager) {
        return client::toLimits(manager.GetLimits(uid));
    });
}

std::vector<std::string> Client::limitedUsers() {
    return implementation_->onManager(
        ReplyTimeout::Usual, [](client::ManagerProxy& manager) { return manager.LimitedUsers(); });
}

void Client::history(const HistoryQuery& query,
                     const std::function<void(const HistoryEvent&)>& take) {
    historyWithDetails(query, [&](const HistoryEvent& event, const auto&) { take(event); });
}

void Client::historyWithParents(
    const HistoryQuery& query,
    const std::function<void(const HistoryEvent&, const std::optional<std::string>&)>& take) {
    historyWithDetails(query, [&](const HistoryEvent& event, const HistoryDetails& details) {
        take(event, details.parent);
    });
}

void Client::historyWithDetails(
    const HistoryQuery& query,
    const std::function<void(const HistoryEvent&, const HistoryDetails&)>& take) {
    const auto microseconds = [](Time time) {
        return static_cast<std::uint64_t>(time.time_since_epoch().count());
    };
    HistoryQuery::Values wanted = query.values();
    for (;;) {
        const auto page =
            implementation_->onManager(ReplyTimeout::Endless, [&](client::ManagerProxy& manager) {
                std::vector<std::pair<HistoryEvent, HistoryDetails>> events;
                for (const client::Dictionary& event : manager.ListEvents(
                         microseconds(wanted.since), wanted.until ? microseconds(*wanted.until) : 0,
                         wanted.arguments))
                    events.emplace_back(client::toHistoryEvent(event),
                                        client::toHistoryDetails(event));
                return events;
            });
        if (page.empty())
            return;
        for (const auto& [event, details] : page)
            take(event, details);
        wanted.arguments["after"] = sdbus::Variant(page.back().first.cursor);
    }
}

std::string Client::activate(const ActivateOptions& options) {
    if (options.waits())
        return *activate(options, Waiting{});
    return implementation_->onManager(ReplyTimeout::Endless, [&](client::ManagerProxy& manager) {
        return std::get<0>(manager.Activate(client::toDictionary(options)));
    });
}

std::optional<std::string> Client::activate(const ActivateOptions& options,
                                            const Waiting& waiting) {
    std::string id;
    const RemainingTime remaining(options.timeout());
    const bool answered = implementation_->wait(
        waiting, [&](client::Connection& connection, const client::WaitingCall::Answered& done) {
            ActivateOptions request = options;
            request.setTimeout(remaining.get());
            auto proxy = connection.proxy(contract::managerPath);
            proxy->callMethodAsync("Activate")
                .onInterface(client::ManagerProxy::INTERFACE_NAME)
                .withArguments(client::toDictionary(request))
                .uponReplyInvoke([&id, done](dbus::compat::Failure error,
                                             const std::string& activated,
                                             const sdbus::ObjectPath&) {
                    id = activated;
                    done(dbus::compat::errorOf(error));
                });
            return proxy;
        });
    return answered ? std::optional(std::move(id)) : std::nullopt;
}

std::vector<std::uint32_t> Client::attach(const std::string& id, const AttachOptions& options) {
    if (options.waits())
        return *attach(id, options, Waiting{});
    return implementation_->onEnvironment(ReplyTimeout::Endless, id, [&](sdbus::IProxy& proxy) {
        return client::EnvironmentProxy(proxy).Attach(client::toDictionary(options));
    });
}

std::optional<std::vector<std::uint32_t>>
Client::attach(const std::string& id, const AttachOptions& options, const Waiting& waiting) {
    std::vector<std::uint32_t> indices;
    const RemainingTime remaining(options.timeout());
    const auto send = [&](client::Connection& connection,
                          const client::WaitingCall::Answered& done) {
        AttachOptions request = options;
        request.setTimeout(remaining.get());
        auto proxy = connection.proxy(client::environmentPath(id));
        proxy->callMethodAsync("Attach")
            .onInterface(client::EnvironmentProxy::INTERFACE_NAME)
            .withArguments(client::toDictionary(request))
            .uponReplyInvoke([&indices, done](dbus::compat::Failure error,
                                              const std::vector<std::uint32_t>& attached) {
                indices = attached;
                done(dbus::compat::errorOf(error));
            });
        return proxy;
    };
    const bool answered =
        Implementation::aboutEnvironment(id, [&] { return implementation_->wait(waiting, send); });
    return answered ? std::optional(std::move(indices)) : std::nullopt;
}

std::optional<Lock> Client::lock(const std::string& id, const Waiting& waiting) {
    Lock lock;
    const auto send = [&](client::Connection& connection,
                          const client::WaitingCall::Answered& done) {
        auto proxy = connection.proxy(client::environmentPath(id));
        proxy->callMethodAsync("Lock")
            .onInterface(client::EnvironmentProxy::INTERFACE_NAME)
            .uponReplyInvoke([&lock, done](dbus::compat::Failure error, sdbus::UnixFd descriptor) {
                // A descriptor received over a socket is inherited by every program started from
                // here.
                if (!error) {
                    fcntl(descriptor.get(), F_SETFD, FD_CLOEXEC);
                    lock = Lock(descriptor.release());
                }
                done(dbus::compat::errorOf(error));
            });
        return proxy;
    };
    const bool answered =
        Implementation::aboutEnvironment(id, [&] { return implementation_->wait(waiting, send); });
    return answered ? std::optional(std::move(lock)) : std::nullopt;
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

bool Client::extend(const std::string& id, std::chrono::seconds lifetime, const Waiting& waiting) {
    const ConfigurationChange change = ConfigurationChange().setLifetime(lifetime);
    const auto send = [&](client::Connection& connection,
                          const client::WaitingCall::Answered& done) {
        auto proxy = connection.proxy(client::environmentPath(id));
        proxy->callMethodAsync("Configure")
            .onInterface(client::EnvironmentProxy::INTERFACE_NAME)
            .withArguments(change.values().arguments, change.values().unset)
            .uponReplyInvoke(
                [done](dbus::compat::Failure error) { done(dbus::compat::errorOf(error)); });
        return proxy;
    };
    return Implementation::aboutEnvironment(id,
                                            [&] { return implementation_->wait(waiting, send); });
}

void Client::addProcess(const std::string& id, std::uint32_t pid) {
    implementation_->onEnvironment(ReplyTimeout::Endless, id, [&](sdbus::IProxy& proxy) {
        client::EnvironmentProxy(proxy).AddProcess(pid);
    });
}

void Client::removeProcess(const std::string& id, std::uint32_t pid) {
    implementation_->onEnvironment(ReplyTimeout::Endless, id, [&](sdbus::IProxy& proxy) {
        client::EnvironmentProxy(proxy).RemoveProcess(pid);
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
