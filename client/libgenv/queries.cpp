// SPDX-License-Identifier: LGPL-2.1-or-later
// The methods of Client that read the state and the history of the service.
#include "client/libgenv/client_implementation.hpp"
#include "client/libgenv/conversions.hpp"
#include "client/libgenv/dictionary.hpp"
#include "client/libgenv/option_contents.hpp"
#include "client/libgenv/proxies.hpp"
#include "genv/client.hpp"

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace genv {

using client::ReplyTimeout;

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

Environment Client::environment(const std::string& id) {
    return implementation_->onEnvironment(ReplyTimeout::Usual, id, [](sdbus::IProxy& proxy) {
        return client::toEnvironment(
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
            devices.push_back({row.get<0>(), std::move(row.get<1>()), std::move(row.get<2>()),
                               client::unlessLargest(row.get<3>()).value_or(0)});
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

std::vector<UserUse> Client::use(bool all) {
    client::Dictionary filter;
    if (all)
        filter["all"] = sdbus::Variant(true);
    return implementation_->onManager(ReplyTimeout::Endless, [&](client::ManagerProxy& manager) {
        return client::toUse(manager.ListUse(filter));
    });
}

std::vector<WaitingRequest> Client::queue() {
    return implementation_->onManager(ReplyTimeout::Usual, [](client::ManagerProxy& manager) {
        std::vector<WaitingRequest> requests;
        for (const client::Dictionary& row : manager.DescribeQueue())
            requests.push_back(client::toWaitingRequest(row));
        return requests;
    });
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
    const auto microseconds = [](Time time) {
        return static_cast<std::uint64_t>(time.time_since_epoch().count());
    };
    HistoryQuery::Values wanted = query.values();
    for (;;) {
        const auto page =
            implementation_->onManager(ReplyTimeout::Endless, [&](client::ManagerProxy& manager) {
                std::vector<HistoryEvent> events;
                for (const client::Dictionary& event : manager.ListEvents(
                         microseconds(wanted.since), wanted.until ? microseconds(*wanted.until) : 0,
                         wanted.arguments))
                    events.push_back(client::toHistoryEvent(event));
                return events;
            });
        if (page.empty())
            return;
        for (const HistoryEvent& event : page)
            take(event);
        wanted.arguments["after"] = sdbus::Variant(page.back().cursor);
    }
}

} // namespace genv
