// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/manager/use.hpp"

#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace genv::dbus {

namespace {

UseRows rowsOf(const std::map<core::Uid, core::UserInfo>& users, const core::DecayedUse& use,
               const core::LimitTable& limits, core::BootTime now) {
    UseRows rows;
    for (const auto& [uid, user] : users)
        rows.emplace_back(uid, user.name,
                          static_cast<std::uint64_t>(std::llround(use.of(uid, now))),
                          limits.weightOf(user));
    return rows;
}

// Looks up the names of the users, on behalf of the caller.
void answer(const BusContext& context, const Reply<UseRows>& reply,
            const std::set<core::Uid>& uids) {
    const core::Uid caller = reply.caller().uid;
    const auto place = context.calls.listCalls.enter(caller);
    core::describeAllFor(context.machine.users, caller, uids,
                         reply.later([&context, reply, place](const auto& users) {
                             reply.send(rowsOf(users, context.sharing.use,
                                               context.settings.current().limits,
                                               context.runtime.clock.bootNow()));
                         }));
}

} // namespace

void listUse(const BusContext& context, const Reply<UseRows>& reply, VariantMap filter) {
    CallOptions options(std::move(filter));
    const bool all = options.takeFlag("all");
    options.finish();
    policy::Target target;
    if (!all)
        target.owner = reply.caller().uid;
    context.calls.gate.pass(reply, target, [&context, reply, all] {
        std::set<core::Uid> uids;
        if (!all) {
            answer(context, reply, {reply.caller().uid});
            return;
        }
        for (const core::UseRow& row : context.sharing.use.all(context.runtime.clock.bootNow()))
            uids.insert(row.uid);
        answer(context, reply, uids);
    });
}

} // namespace genv::dbus
