// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/manager/isolation_methods.hpp"

#include "core/base/text.hpp"

#include <limits>
#include <utility>

namespace genv::dbus {

namespace {

RefusedOpenRows rowsOf(const std::vector<core::CountedOpens>& counted,
                       std::optional<core::Uid> uid) {
    RefusedOpenRows rows;
    for (const core::CountedOpens& each : counted) {
        if (uid && each.uid != *uid)
            continue;
        rows.emplace_back(each.uid, each.device.value_or(std::numeric_limits<std::uint32_t>::max()),
                          each.node, each.count, core::toMicroseconds(each.last), each.pid,
                          core::printable(each.command));
    }
    return rows;
}

} // namespace

VariantMap describe(const core::IsolationReport& report) {
    std::vector<sdbus::Struct<std::uint32_t, std::uint32_t>> exempt;
    for (const core::UidRange& range : report.exempt)
        exempt.emplace_back(range.first, range.last);
    return {{"mode", sdbus::Variant{core::toString(report.inForce)}},
            {"wanted", sdbus::Variant{core::toString(report.wanted)}},
            {"suspended", sdbus::Variant{report.isSuspended}},
            {"trouble", sdbus::Variant{report.trouble}},
            {"guarded", sdbus::Variant{report.guarded}},
            {"unguarded", sdbus::Variant{report.unguarded}},
            {"open", sdbus::Variant{report.open}},
            {"docker-user", sdbus::Variant{report.dockerUser}},
            {"exempt", sdbus::Variant{exempt}},
            {"render-nodes", sdbus::Variant{report.guardsRenderNodes}}};
}

void listRefusedOpens(const IsolationParts& isolating, const Calls& calls,
                      const Reply<RefusedOpenRows>& reply, VariantMap filter) {
    CallOptions options(std::move(filter));
    const bool all = options.takeFlag("all");
    options.finish();
    policy::Target target;
    if (!all)
        target.owner = reply.caller().uid;
    calls.gate.pass(reply, target, [&refusals = isolating.refusals, reply, owner = target.owner] {
        reply.send(rowsOf(refusals.list(), owner));
    });
}

void suspendIsolation(const IsolationParts& isolating, const Calls& calls, const Reply<>& reply,
                      bool suspended) {
    calls.gate.pass(reply, {}, [&isolation = isolating.isolation, reply, suspended] {
        isolation.suspend(suspended, reply.caller().actor());
        reply.send();
    });
}

} // namespace genv::dbus
