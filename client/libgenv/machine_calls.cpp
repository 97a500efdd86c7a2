// SPDX-License-Identifier: LGPL-2.1-or-later
// The calls about the machine as a whole.
#include "client/libgenv/client_implementation.hpp"
#include "client/libgenv/machine_conversions.hpp"
#include "client/libgenv/proxies.hpp"
#include "genv/client.hpp"
#include "genv/machine.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace genv {

using client::ReplyTimeout;

std::vector<Reading> Client::readings(std::optional<Time> since) {
    std::vector<Reading> all;
    std::uint64_t after = since ? static_cast<std::uint64_t>(
                                      std::max<std::int64_t>(since->time_since_epoch().count(), 0))
                                : 0;
    for (;;) {
        auto page =
            implementation_->onManager(ReplyTimeout::Usual, [&](client::ManagerProxy& manager) {
                return client::toReadings(manager.ListReadings(after));
            });
        if (page.empty())
            return all;
        after = static_cast<std::uint64_t>(page.back().when.time_since_epoch().count());
        all.insert(all.end(), std::make_move_iterator(page.begin()),
                   std::make_move_iterator(page.end()));
    }
}

std::vector<ProcessDescription> Client::describeProcesses() {
    return implementation_->onManager(ReplyTimeout::Usual, [this](client::ManagerProxy&) {
        sdbus::IProxy& manager = implementation_->managerObject();
        const sdbus::MethodCall call = dbus::compat::makeCall(
            manager, client::ManagerProxy::INTERFACE_NAME, "DescribeProcesses");
        return client::toProcessDescriptions(client::readRows(manager.callMethod(call)));
    });
}

Machine Client::machine(StartsService starts) {
    const client::ManagedObjects objects = implementation_->managedObjects(starts);
    const auto read = [&] {
        return client::toMachine(
            objects, client::allProperties(implementation_->managerObject(),
                                           client::ManagerProxy::INTERFACE_NAME, starts));
    };
    client::Connection& connection = implementation_->connection();
    return starts == StartsService::Yes ? connection.callService(ReplyTimeout::Usual, read)
                                        : connection.call(ReplyTimeout::Usual, read);
}

} // namespace genv
