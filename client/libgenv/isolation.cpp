// SPDX-License-Identifier: LGPL-2.1-or-later
// The calls about isolation.
#include "genv/isolation.hpp"

#include "client/libgenv/client_implementation.hpp"
#include "client/libgenv/conversions.hpp"
#include "client/libgenv/proxies.hpp"
#include "genv/client.hpp"

namespace genv {

using client::ReplyTimeout;

std::string Client::isolationMode() {
    return implementation_->onManager(
        ReplyTimeout::Usual, [](client::ManagerProxy& manager) { return manager.Isolation(); });
}

IsolationState Client::isolation() {
    return implementation_->onManager(ReplyTimeout::Usual, [](client::ManagerProxy& manager) {
        return client::toIsolation(manager.DescribeIsolation());
    });
}

std::optional<bool> Client::guardsRenderNodes() {
    return implementation_->onManager(
        ReplyTimeout::Usual, [](client::ManagerProxy& manager) -> std::optional<bool> {
            const auto isolation = manager.DescribeIsolation();
            const auto found = isolation.find("render-nodes");
            return found == isolation.end() ? std::nullopt
                                            : std::optional(found->second.get<bool>());
        });
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
