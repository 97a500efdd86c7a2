// SPDX-License-Identifier: LGPL-2.1-or-later
// The calls about isolation.
#include "client/libgenv/client_implementation.hpp"
#include "client/libgenv/conversions.hpp"
#include "client/libgenv/proxies.hpp"
#include "genv/client.hpp"
#include "genv/isolation.hpp"

namespace genv {

using client::ReplyTimeout;

IsolationState Client::isolation() {
    return implementation_->onManager(ReplyTimeout::Usual, [](client::ManagerProxy& manager) {
        return client::toIsolation(manager.DescribeIsolation());
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

} // namespace genv
