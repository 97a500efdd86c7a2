// SPDX-License-Identifier: LGPL-2.1-or-later
#include "genv/client.hpp"

#include "client/library/connection.hpp"
#include "client/library/conversions.hpp"
#include "client/library/proxies.hpp"
#include "client/library/repeated_enforcement.hpp"
#include "client/library/service_signals.hpp"
#include "client/library/waiting_call.hpp"
#include "dbus/contract/names.hpp"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <string_view>

namespace genv {

namespace contract = dbus::contract;
using client::Patience;

namespace {

constexpr const char* propertiesInterface = "org.freedesktop.DBus.Properties";
constexpr const char* objectManagerInterface = "org.freedesktop.DBus.ObjectManager";
// What a path without an object answers: that environment, or that device, does not exist.
constexpr std::string_view unknownObject = "org.freedesktop.DBus.Error.UnknownObject";

// So many ended environments are remembered with their owners.
constexpr std::size_t mostOwners = 4096;

std::string managerSignals() {
    return std::string("interface='") + client::ManagerProxy::INTERFACE_NAME + "'";
}

/// What is left of a time that a call may wait, when the call has to be made again.
class TimeLeft {
  public:
    explicit TimeLeft(std::optional<std::chrono::seconds> all) : all_(all) {}

    /// Never less than the second that is the least the service takes.
    [[nodiscard]] std::optional<std::chrono::seconds> get() const {
        if (!all_)
            return std::nullopt;
        const auto left = *all_ - (std::chrono::steady_clock::now() - began_);
        return std::max(std::chrono::ceil<std::chrono::seconds>(left),
                        std::min(*all_, std::chrono::seconds{1}));
    }

  private:
    std::optional<std::chrono::seconds> all_;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

client::Dictionary allProperties(sdbus::IProxy& proxy, const char* interface) {
    client::Dictionary properties;
    proxy.callMethod("GetAll")
        .onInterface(propertiesInterface)
        .withArguments(interface)
        .storeResultsTo(properties);
    return properties;
}

} // namespace

/// The connection, the manager's proxy, which most calls go to, and the notices heard.
class [[gnu::visibility("hidden")]] Client::Implementation {
  public:
    Implementation()
        : managerObject_(connection_.proxy(contract::managerPath)), manager_(*managerObject_) {}

    client::Connection& connection() {
        return connection_;
    }
    sdbus::IProxy& managerObject() {
        return *managerObject_;
    }

    /// Runs a call on the manager.
    template <typename Call>
    auto onManager(Patience patience, Call && call) {
        return connection_.call(patience, [&] { return call(manager_); });
    }

    /// Runs a call on an environment by its path, without asking first whether it exists.
    template <typename Call>
    auto onEnvironment(Patience patience, const std::string& id, Call&& call) {
        return onObject(client::environmentPath(id), contract::error::noSuchEnvironment,
                        "there is no environment \"" + id + "\"", patience,
                        std::forward<Call>(call));
    }

    template <typename Call>
    auto onDevice(Patience patience, std::uint32_t index, Call && call) {
        const std::string number = std::to_string(index);
        return onObject(std::string(contract::devicePathPrefix) + "/" + number,
                        contract::error::noSuchDevice,
                        "there is no device " + number + " on this machine", patience,
                        std::forward<Call>(call));
    }

    void listenForNotices(std::uint32_t uid);
    std::vector<Notice> takeNotices();
    std::vector<EnforcementAction> enforceRepeatedly(const EnforceOptions& options,
                                                     std::chrono::seconds interval);
    std::optional<std::vector<EnforcementAction>> nextEnforcement(int stopDescriptor);
    bool wait(const Waiting& waiting, const client::WaitingCall::Send& send);
    void listenForEvents();
    std::optional<Event> nextEvent(int stopDescriptor);
    void readOwners();
    void nameOwner(Event & event);

    /// Runs something about an environment; what a path without an object answers becomes
    /// NoSuchEnvironment.
    template <typename Call>
    static auto aboutEnvironment(const std::string& id, Call&& call) {
        return aboutObject(contract::error::noSuchEnvironment,
                           "there is no environment \"" + id + "\"", std::forward<Call>(call));
    }

  private:
    template <typename Call>
    auto onObject(const std::string& path, const char* missingName, const std::string& missingText,
                  Patience patience, Call&& call) {
        return aboutObject(missingName, missingText, [&] {
            return connection_.call(patience, [&] {
                const auto proxy = connection_.proxy(path);
                return std::forward<Call>(call)(*proxy);
            });
        });
    }

    template <typename Call>
    static auto aboutObject(const char* missingName, const std::string& missingText, Call&& call) {
        try {
            return std::forward<Call>(call)();
        } catch (const Error& error) {
            if (error.name() == unknownObject)
                throw Error(missingName, missingText);
            throw;
        }
    }

    client::Connection connection_;
    std::unique_ptr<sdbus::IProxy> managerObject_;
    client::ManagerProxy manager_;
    std::vector<Notice> notices_;
    std::unique_ptr<client::ServiceSignals> noticeSubscription_;
    std::deque<Event> events_;
    /// Who owns which environment: a signal names the environment only, and one that has ended
    /// cannot be asked about any more.
    std::map<std::string, std::string> owners_;
    bool ownersAreOld_ = false;
    std::unique_ptr<client::ServiceSignals> ownerSubscription_;
    std::unique_ptr<client::ServiceSignals> eventSubscription_;
    std::unique_ptr<client::RepeatedEnforcement> repeatedEnforcement_;
};

void Client::Implementation::listenForNotices(std::uint32_t uid) {
    connection_.call(Patience::Usual, [&] {
        noticeSubscription_ = std::make_unique<client::ServiceSignals>(
            connection_, managerSignals() + ",member='Notice'",
            [this, uid](sdbus::Message& signal) {
                auto [to, notice] = client::toNotice(signal);
                if (to == uid)
                    notices_.push_back(std::move(notice));
            });
    });
}

void Client::Implementation::listenForEvents() {
    connection_.call(Patience::Usual, [&] {
        eventSubscription_ = std::make_unique<client::ServiceSignals>(
            connection_, managerSignals(),
            [this](sdbus::Message& signal) {
                if (auto event = client::toEvent(signal))
                    events_.push_back(*std::move(event));
            },
            [this](bool isThere) {
                ownersAreOld_ = ownersAreOld_ || isThere;
                Event event;
                event.kind = isThere ? Event::Kind::ServiceStarted : Event::Kind::ServiceEnded;
                event.time = client::now();
                events_.push_back(std::move(event));
            });
        ownerSubscription_ = std::make_unique<client::ServiceSignals>(
            connection_,
            std::string("interface='") + objectManagerInterface + "',member='InterfacesAdded'",
            [this](sdbus::Message& signal) {
                sdbus::ObjectPath path;
                std::map<std::string, client::Dictionary> interfaces;
                signal >> path >> interfaces;
                const auto found = interfaces.find(client::EnvironmentProxy::INTERFACE_NAME);
                if (found != interfaces.end())
                    owners_[client::environmentId(path)] =
                        found->second.at("User").get<std::string>();
            });
        readOwners();
    });
}

void Client::Implementation::readOwners() {
    for (auto& row : manager_.ListEnvironments())
        owners_.insert_or_assign(std::move(row.get<0>()), std::move(row.get<2>()));
    ownersAreOld_ = false;
}

void Client::Implementation::nameOwner(Event& event) {
    if (!event.environment)
        return;
    if (ownersAreOld_ || !owners_.contains(*event.environment)) {
        try {
            readOwners();
        } catch (const sdbus::Error&) {
            // The service has ended again, and the next event says so.
        }
        connection_.handleArrived(); // the properties of one that began and ended meanwhile
    }
    const auto found = owners_.find(*event.environment);
    if (found != owners_.end())
        event.user = found->second;
    // Its notices come after it has ended; an id that is taken again is told with its owner.
    if (event.kind == Event::Kind::EnvironmentRemoved && owners_.size() > mostOwners)
        owners_.erase(*event.environment);
}

std::optional<Event> Client::Implementation::nextEvent(int stopDescriptor) {
    if (!eventSubscription_)
        throw Error(contract::error::failed, "no events were asked for");
    return connection_.call(Patience::Usual, [&]() -> std::optional<Event> {
        for (;;) {
            connection_.handleArrived();
            if (!events_.empty()) {
                Event event = std::move(events_.front());
                events_.pop_front();
                nameOwner(event);
                return event;
            }
            if (!connection_.waitForArrival(stopDescriptor))
                return std::nullopt;
        }
    });
}

bool Client::Implementation::wait(const Waiting& waiting, const client::WaitingCall::Send& send) {
    const bool answered = client::WaitingCall(connection_, waiting).run(send);
    // What the service told before it answered on the other connection is on its way to this one,
    // and in front of this answer.
    connection_.call(Patience::Usual, [&] {
        managerObject_->callMethod("Ping").onInterface("org.freedesktop.DBus.Peer");
    });
    return answered;
}

std::vector<Notice> Client::Implementation::takeNotices() {
    // The service tells before it replies, and the bus keeps the order: what the calls caused has
    // arrived.
    connection_.call(Patience::Usual, [&] { connection_.handleArrived(); });
    return std::exchange(notices_, {});
}

std::vector<EnforcementAction>
Client::Implementation::enforceRepeatedly(const EnforceOptions& options,
                                          std::chrono::seconds interval) {
    client::Dictionary dictionary = client::toDictionary(options);
    dictionary.emplace("interval", sdbus::Variant(static_cast<std::uint64_t>(interval.count())));
    repeatedEnforcement_.reset();
    return connection_.call(Patience::Endless, [&] {
        auto enforcement = std::make_unique<client::RepeatedEnforcement>(connection_);
        auto actions = client::toActions(enforcement->begin(dictionary));
        repeatedEnforcement_ = std::move(enforcement);
        return actions;
    });
}

std::optional<std::vector<EnforcementAction>>
Client::Implementation::nextEnforcement(int stopDescriptor) {
    if (!repeatedEnforcement_)
        throw Error(contract::error::failed, "no repeated enforcement was asked for");
    return connection_.call(Patience::Usual,
                            [&]() -> std::optional<std::vector<EnforcementAction>> {
                                const auto actions = repeatedEnforcement_->next(stopDescriptor);
                                if (!actions)
                                    return std::nullopt;
                                return client::toActions(*actions);
                            });
}

Client::Client() : implementation_(std::make_unique<Implementation>()) {}
Client::Client(Client&& other) noexcept = default;
Client& Client::operator=(Client&& other) noexcept = default;
Client::~Client() = default;

void Client::allowInteraction(bool allow) {
    implementation_->connection().call(
        Patience::Usual, [&] { implementation_->connection().allowInteraction(allow); });
}

std::vector<EnvironmentEntry> Client::environments() {
    return implementation_->onManager(Patience::Usual, [](client::ManagerProxy& manager) {
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
    return implementation_->onManager(Patience::Usual, [&](client::ManagerProxy&) {
        client::ManagedObjects objects;
        implementation_->managerObject()
            .callMethod("GetManagedObjects")
            .onInterface(objectManagerInterface)
            .storeResultsTo(objects);
        return client::toEnvironments(objects);
    });
}

Environment Client::environment(const std::string& id) {
    return implementation_->onEnvironment(Patience::Usual, id, [](sdbus::IProxy& proxy) {
        return client::toEnvironment(
            allProperties(proxy, client::EnvironmentProxy::INTERFACE_NAME));
    });
}

std::string Client::environmentOfProcess(std::uint32_t pid) {
    return implementation_->onManager(Patience::Usual, [&](client::ManagerProxy& manager) {
        return client::environmentId(manager.GetEnvironmentByPID(pid));
    });
}

std::vector<Device> Client::devices() {
    return implementation_->onManager(Patience::Usual, [](client::ManagerProxy& manager) {
        std::vector<Device> devices;
        for (auto& row : manager.ListDevices())
            devices.push_back(
                {row.get<0>(), std::move(row.get<1>()), std::move(row.get<2>()), row.get<3>()});
        return devices;
    });
}

std::vector<Attachment> Client::attachments() {
    return implementation_->onManager(Patience::Usual, [](client::ManagerProxy& manager) {
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
    return implementation_->onManager(Patience::Usual, [](client::ManagerProxy& manager) {
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
    return implementation_->onManager(Patience::Usual, [](client::ManagerProxy& manager) {
        return client::toQueue(manager.ListQueue());
    });
}

std::map<std::uint32_t, std::string> Client::lockHolders() {
    return implementation_->onManager(Patience::Usual, [&](client::ManagerProxy&) {
        client::ManagedObjects objects;
        implementation_->managerObject()
            .callMethod("GetManagedObjects")
            .onInterface(objectManagerInterface)
            .storeResultsTo(objects);
        return client::toLockHolders(objects);
    });
}

std::string Client::snapshot() {
    return implementation_->onManager(
        Patience::Usual, [](client::ManagerProxy& manager) { return manager.Snapshot(); });
}

ServiceStatus Client::status() {
    return implementation_->onManager(Patience::Usual, [&](client::ManagerProxy&) {
        return client::toServiceStatus(
            allProperties(implementation_->managerObject(), client::ManagerProxy::INTERFACE_NAME));
    });
}

std::map<std::string, Limit> Client::limits(std::uint32_t uid) {
    return implementation_->onManager(Patience::Usual, [&](client::ManagerProxy& manager) {
        return client::toLimits(manager.GetLimits(uid));
    });
}

std::string Client::activate(const ActivateOptions& options) {
    if (options.wait)
        return *activate(options, Waiting{});
    return implementation_->onManager(Patience::Endless, [&](client::ManagerProxy& manager) {
        return std::get<0>(manager.Activate(client::toDictionary(options)));
    });
}

std::optional<std::string> Client::activate(const ActivateOptions& options,
                                            const Waiting& waiting) {
    std::string id;
    const TimeLeft left(options.timeout);
    const bool answered = implementation_->wait(
        waiting, [&](client::Connection& connection, const client::WaitingCall::Answered& done) {
            ActivateOptions request = options;
            request.timeout = left.get();
            auto proxy = connection.proxy(contract::managerPath);
            proxy->callMethodAsync("Activate")
                .onInterface(client::ManagerProxy::INTERFACE_NAME)
                .withArguments(client::toDictionary(request))
                .uponReplyInvoke([&id, done](const sdbus::Error* error,
                                             const std::string& activated,
                                             const sdbus::ObjectPath&) {
                    id = activated;
                    done(error);
                });
            return proxy;
        });
    return answered ? std::optional(std::move(id)) : std::nullopt;
}

std::vector<std::uint32_t> Client::attach(const std::string& id, const AttachOptions& options) {
    if (options.wait)
        return *attach(id, options, Waiting{});
    return implementation_->onEnvironment(Patience::Endless, id, [&](sdbus::IProxy& proxy) {
        return client::EnvironmentProxy(proxy).Attach(client::toDictionary(options));
    });
}

std::optional<std::vector<std::uint32_t>>
Client::attach(const std::string& id, const AttachOptions& options, const Waiting& waiting) {
    std::vector<std::uint32_t> indices;
    const TimeLeft left(options.timeout);
    const auto send = [&](client::Connection& connection,
                          const client::WaitingCall::Answered& done) {
        AttachOptions request = options;
        request.timeout = left.get();
        auto proxy = connection.proxy(client::environmentPath(id));
        proxy->callMethodAsync("Attach")
            .onInterface(client::EnvironmentProxy::INTERFACE_NAME)
            .withArguments(client::toDictionary(request))
            .uponReplyInvoke([&indices, done](const sdbus::Error* error,
                                              const std::vector<std::uint32_t>& attached) {
                indices = attached;
                done(error);
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
            .uponReplyInvoke([&lock, done](const sdbus::Error* error, sdbus::UnixFd descriptor) {
                // What comes over a socket is open for every program that is run from here.
                if (error == nullptr) {
                    fcntl(descriptor.get(), F_SETFD, FD_CLOEXEC);
                    lock = Lock(descriptor.release());
                }
                done(error);
            });
        return proxy;
    };
    const bool answered =
        Implementation::aboutEnvironment(id, [&] { return implementation_->wait(waiting, send); });
    return answered ? std::optional(std::move(lock)) : std::nullopt;
}

std::vector<std::uint32_t> Client::detach(const std::string& id,
                                          const std::vector<std::uint32_t>& indices) {
    return implementation_->onEnvironment(Patience::Endless, id, [&](sdbus::IProxy& proxy) {
        return client::EnvironmentProxy(proxy).Detach(indices);
    });
}

void Client::configure(const std::string& id, const ConfigurationChange& change) {
    implementation_->onEnvironment(Patience::Endless, id, [&](sdbus::IProxy& proxy) {
        const auto [set, unset] = client::toArguments(change);
        client::EnvironmentProxy(proxy).Configure(set, unset);
    });
}

void Client::extend(const std::string& id, std::chrono::seconds lifetime) {
    ConfigurationChange change;
    change.lifetime = lifetime;
    configure(id, change);
}

void Client::addProcess(const std::string& id, std::uint32_t pid) {
    implementation_->onEnvironment(Patience::Endless, id, [&](sdbus::IProxy& proxy) {
        client::EnvironmentProxy(proxy).AddProcess(pid);
    });
}

void Client::removeProcess(const std::string& id, std::uint32_t pid) {
    implementation_->onEnvironment(Patience::Endless, id, [&](sdbus::IProxy& proxy) {
        client::EnvironmentProxy(proxy).RemoveProcess(pid);
    });
}

void Client::addKernel(const std::string& id, const std::string& kernel) {
    implementation_->onEnvironment(Patience::Endless, id, [&](sdbus::IProxy& proxy) {
        client::EnvironmentProxy(proxy).AddKernel(kernel);
    });
}

void Client::removeKernel(const std::string& id, const std::string& kernel) {
    implementation_->onEnvironment(Patience::Endless, id, [&](sdbus::IProxy& proxy) {
        client::EnvironmentProxy(proxy).RemoveKernel(kernel);
    });
}

void Client::deactivate(const std::string& id) {
    implementation_->onEnvironment(Patience::Endless, id, [](sdbus::IProxy& proxy) {
        client::EnvironmentProxy(proxy).Deactivate();
    });
}

void Client::detachDevice(std::uint32_t index, const std::string& environment) {
    implementation_->onDevice(Patience::Endless, index, [&](sdbus::IProxy& proxy) {
        client::DeviceProxy(proxy).Detach(environment);
    });
}

void Client::terminateProcess(std::uint32_t pid) {
    implementation_->onManager(
        Patience::Endless, [&](client::ManagerProxy& manager) { manager.TerminateProcess(pid); });
}

void Client::reload() {
    implementation_->onManager(Patience::Endless,
                               [](client::ManagerProxy& manager) { manager.Reload(); });
}

std::vector<EnforcementAction> Client::enforce(const EnforceOptions& options) {
    return implementation_->onManager(Patience::Endless, [&](client::ManagerProxy& manager) {
        return client::toActions(manager.Enforce(client::toDictionary(options)));
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
    return implementation_->onManager(Patience::Endless, [&](client::ManagerProxy& manager) {
        return client::toActions(manager.Execute(report));
    });
}

void Client::listenForNotices(std::uint32_t uid) {
    implementation_->listenForNotices(uid);
}

std::vector<Notice> Client::takeNotices() {
    return implementation_->takeNotices();
}

void Client::listenForEvents() {
    implementation_->listenForEvents();
}

std::optional<Event> Client::nextEvent(int stopDescriptor) {
    return implementation_->nextEvent(stopDescriptor);
}

} // namespace genv
