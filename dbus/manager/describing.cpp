// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/manager/describing.hpp"

#include "core/base/text.hpp"
#include "core/ledger/membership.hpp"
#include "dbus/calls/unknown.hpp"
#include "dbus/manager/observation.hpp"

#include <limits>
#include <set>
#include <utility>

namespace genv::dbus {

namespace {

// Boot time and wall time are read one after the other, so their sum varies by microseconds. The
// kernel reports the start with a precision of a hundredth of a second, so the result has the same
// precision.
std::uint64_t startOf(const core::ProcessIdentity& process, const core::Clock& clock) {
    if (process.startTime >= core::ProcessIdentity::unreadStart)
        return std::numeric_limits<std::uint64_t>::max();
    using Tick = std::chrono::duration<std::int64_t, std::ratio<1, core::clockTicksPerSecond>>;
    const auto age = clock.bootNow() - process.startedBefore();
    const auto started = std::chrono::floor<Tick>(clock.wallNow() - age);
    return core::toMicroseconds(started);
}

DescriptionRow rowOf(const core::ObservedProcess& process, const core::LedgerView& ledger,
                     const core::EnvironmentLookup& lookup, const core::Clock& clock) {
    DescriptionRow row;
    row.pid = process.facts.identity.pid;
    row.uid = process.user();
    if (const core::EnvironmentRecord* environment = core::environmentOf(lookup, process))
        row.environment = environment->id;
    row.name = core::printable(process.facts.command);
    for (const core::ComputeUse& use : process.uses) {
        if (const core::TableDevice* device = ledger.devices().findUuid(use.device))
            row.devices.emplace_back(device->facts.index, orMaximum(use.usedMemory),
                                     orMaximum(use.utilizationPercent));
    }
    row.started = startOf(process.facts.identity, clock);
    return row;
}

} // namespace

DescriptionRows describe(const core::Observation& observation, const core::LedgerView& ledger,
                         const core::Clock& clock) {
    const core::EnvironmentLookup lookup = core::lookupIn(ledger);
    DescriptionRows descriptions;
    descriptions.rows.reserve(observation.processes.size());
    for (const core::ObservedProcess& process : observation.processes)
        descriptions.rows.push_back(rowOf(process, ledger, lookup, clock));
    return descriptions;
}

void describeProcesses(const BusContext& context, const Reply<DescriptionRows>& reply) {
    withObservationAndPlace(
        context.machine.observer, context.calls, reply,
        [&context, reply](const core::Observation& observation,
                          const std::shared_ptr<void>& place) {
            const auto found = std::make_shared<DescriptionRows>(
                describe(observation, context.sharing.ledger, context.runtime.clock));
            std::set<core::Uid> uids;
            for (const DescriptionRow& row : found->rows)
                uids.insert(row.uid);
            core::describeAllFor(context.machine.users, reply.caller().uid, uids,
                                 reply.later([reply, place, found](
                                                 const std::map<core::Uid, core::UserInfo>& users) {
                                     for (DescriptionRow& row : found->rows)
                                         row.user = users.at(row.uid).name;
                                     reply.send(*found);
                                 }));
        });
}

} // namespace genv::dbus
