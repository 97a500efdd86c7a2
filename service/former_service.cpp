// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/former_service.hpp"

#include "dbus/contract/names.hpp"
#include "dbus/contract/sdbus_compat.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <stdexcept>
#include <string>

namespace genv::service {

namespace {

namespace contract = dbus::contract;
using Clock = std::chrono::steady_clock;

bool hasOwner(sdbus::IConnection& connection, const char* name) {
    bool isOwned = false;
    dbus::compat::makeProxy(connection, contract::busDriver, contract::busDriverPath)
        ->callMethod("NameHasOwner")
        .onInterface(contract::busDriver)
        .withArguments(name)
        .storeResultsTo(isOwned);
    return isOwned;
}

// Returns false if no message arrived in time.
bool awaitMessage(const sdbus::IConnection& connection, Clock::duration maxWait) {
    const auto data = connection.getEventLoopPollData();
    pollfd arrivals{data.fd, data.events, 0};
    const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(maxWait).count();
    return ::poll(&arrivals, 1, static_cast<int>(timeout)) != 0;
}

} // namespace

void awaitFormerService(sdbus::IConnection& connection, core::Log& log,
                        std::chrono::milliseconds timeout) {
    const char* const name = contract::busName;
    bool hasDeparted = false;
    // Subscribe before asking for the current owner, so that its departure cannot be missed.
    const auto leaving = dbus::compat::addMatch(
        connection,
        fmt::format("type='signal',sender='{0}',interface='{0}',member='NameOwnerChanged',"
                    "arg0='{1}',arg2=''",
                    contract::busDriver, name),
        [&](sdbus::Message& message) {
            hasDeparted = hasDeparted || dbus::compat::senderOf(message) == contract::busDriver;
        });
    if (!hasOwner(connection, name))
        return;
    log.notice("another service owns {} on the bus; waiting until it has ended", name);
    const auto until = Clock::now() + timeout;
    for (;;) {
        // Process pending messages first, because some may have been read together with the reply.
        // Process one message at a time, because a client may send messages without end.
        const bool wasThere = dbus::compat::processPending(connection);
        if (hasDeparted)
            return;
        const auto remaining = until - Clock::now();
        if (remaining <= Clock::duration::zero() ||
            (!wasThere && !awaitMessage(connection, remaining)))
            throw std::runtime_error(fmt::format(
                "another service owns {} on the bus; stop that one first (systemctl stop genvd)",
                name));
    }
}

} // namespace genv::service
