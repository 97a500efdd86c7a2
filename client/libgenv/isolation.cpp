// SPDX-License-Identifier: LGPL-2.1-or-later
// The calls about isolation. An earlier version of the service does not have them, which is treated
// like isolation that is not configured.
#include "genv/isolation.hpp"

#include "client/libgenv/client_implementation.hpp"
#include "client/libgenv/conversions.hpp"
#include "client/libgenv/proxies.hpp"
#include "genv/client.hpp"

namespace genv {

using client::ReplyTimeout;

namespace {

constexpr const char* notConfigured = "none";

bool isUnknownToTheService(const Error& error) {
    return error.name() == "org.freedesktop.DBus.Error.UnknownProperty" ||
           error.name() == "org.freedesktop.DBus.Error.UnknownMethod";
}

} // namespace

std::string Client::isolationMode() {
    try {
        return implementation_->onManager(
            ReplyTimeout::Usual, [](client::ManagerProxy& manager) { return manager.Isolation(); });
    } catch (const Error& error) {
        if (!isUnknownToTheService(error))
            throw;
        return notConfigured;
    }
}

IsolationState Client::isolation() {
    try {
        return implementation_->onManager(ReplyTimeout::Usual, [](client::ManagerProxy& manager) {
            return client::toIsolation(manager.DescribeIsolation());
        });
    } catch (const Error& error) {
        if (!isUnknownToTheService(error))
            throw;
        return {notConfigured, notConfigured, false, {}, {}, {}, {}};
    }
}

std::optional<bool> Client::guardsRenderNodes() {
    try {
        return implementation_->onManager(
            ReplyTimeout::Usual, [](client::ManagerProxy& manager) -> std::optional<bool> {
                const auto isolation = manager.DescribeIsolation();
                const auto found = isolation.find("render-nodes");
                return found == isolation.end() ? std::nullopt
                                                : std::optional(found->second.get<bool>());
            });
    } catch (const Error& error) {
        if (!isUnknownToTheService(error))
            throw;
        return std::nullopt;
    }
}

std::vector<RefusedOpen> Client::refusedOpens(bool all) {
    client::Dictionary filter;
    if (all)
        filter["all"] = sdbus::Variant(true);
    return implementation_->onManager(ReplyTimeout::Endless, [&](client::ManagerProxy& manager) {
        return client::toRefusedOpens(manager.ListRefusedOpens(filter));
    });
}

void Client::suspendIsolation(bool suspended) {
    implementation_->onManager(ReplyTimeout::Endless, [&](client::ManagerProxy& manager) {
        manager.SuspendIsolation(suspended);
    });
}

OverviewWithRefusals Client::overviewWithRefusals() {
    const client::ManagedObjects objects =
        implementation_->managedObjects(client::StartsService::No);
    return {client::toOverview(objects), client::toRefusedOpenCounts(objects)};
}

} // namespace genv
