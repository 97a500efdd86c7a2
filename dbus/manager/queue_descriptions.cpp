// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/manager/queue_descriptions.hpp"

#include "core/loans/takings.hpp"
#include "core/placement/placement.hpp"

namespace genv::dbus {

namespace {

std::string toString(core::Queue::WaitsFor waitsFor) {
    switch (waitsFor) {
    case core::Queue::WaitsFor::Earlier:
        return "earlier-requests";
    case core::Queue::WaitsFor::Quota:
        return "quota";
    case core::Queue::WaitsFor::Devices:
        break;
    }
    return "devices";
}

// Adds the taking of a request, and the problem of the last one.
void describeTaking(VariantMap& row, const core::Wait& wait, const core::LedgerView& ledger,
                    const core::Lending& lending) {
    if (const std::string problem = lending.problemOf(wait.ticket); !problem.empty())
        row.emplace("taking-problem", sdbus::Variant{problem});
    if (!wait.taking || wait.taking->victims.empty())
        return;
    using Victim = sdbus::Struct<std::string, std::string, std::string, uint64_t, uint64_t>;
    const auto estimate =
        static_cast<uint64_t>(std::chrono::microseconds(wait.taking->estimate).count());
    std::vector<Victim> victims;
    for (const core::EnvironmentId& id : wait.taking->victims) {
        const core::EnvironmentRecord* victim = ledger.find(id);
        if (victim != nullptr)
            victims.push_back(Victim{id, victim->configuration.name.value_or(""), victim->user,
                                     core::memoryToMove(ledger, *victim).count, estimate});
    }
    row.emplace("taking", sdbus::Variant{victims});
    row.emplace("taking-devices", sdbus::Variant{ledger.devices().indicesOf(wait.taking->devices)});
}

VariantMap describe(const core::Queue::WaitState& state, const core::LedgerView& ledger,
                    std::uint32_t position) {
    const core::EnvironmentRecord& environment = ledger.get(ledger.waits().at(state.ticket));
    const core::Wait& wait = ledger.wait(state.ticket);
    const auto count = static_cast<std::uint32_t>(core::missing(wait.request, environment));
    VariantMap row{{"ticket", sdbus::Variant{state.ticket}},
                   {"environment", sdbus::Variant{environment.id}},
                   {"uid", sdbus::Variant{environment.uid}},
                   {"user", sdbus::Variant{environment.user}},
                   {"count", sdbus::Variant{count}},
                   {"since", sdbus::Variant{core::toMicroseconds(wait.since)}},
                   {"position", sdbus::Variant{position}},
                   {"waits-for", sdbus::Variant{toString(state.waitsFor)}}};
    const core::RequestStanding& standing = state.standing;
    row.emplace("use", sdbus::Variant{standing.share.use});
    row.emplace("weight", sdbus::Variant{standing.share.weight});
    row.emplace("priority", sdbus::Variant{standing.priority});
    row.emplace("overtakings", sdbus::Variant{standing.overtakings});
    if (environment.parent)
        row.emplace("parent", sdbus::Variant{*environment.parent});
    if (state.hold) {
        row.emplace("limit", sdbus::Variant{std::string(state.hold->limit)});
        row.emplace("used", sdbus::Variant{state.hold->used});
        row.emplace("allowed", sdbus::Variant{state.hold->allowed});
    }
    row.emplace("preemptible",
                sdbus::Variant{core::toString(environment.configuration.preemptible)});
    row.emplace("resumes", sdbus::Variant{wait.resumes});
    return row;
}

} // namespace

std::vector<VariantMap> queueDescriptions(const core::Queue& queue, const core::LedgerView& ledger,
                                          const core::Lending& lending, const core::Clock& clock,
                                          core::QueueOrder order) {
    std::vector<VariantMap> rows;
    const auto add = [&](const char* name, const std::optional<core::BootTime>& moment) {
        if (moment)
            rows.back().emplace(name, sdbus::Variant{core::toMicroseconds(
                                          clock.wallNow() + (*moment - clock.bootNow()))});
    };
    for (const core::Queue::WaitState& state : queue.states()) {
        rows.push_back(describe(state, ledger, static_cast<std::uint32_t>(rows.size() + 1)));
        rows.back().emplace("order", sdbus::Variant{core::toString(order)});
        add("first-since", state.standing.firstSince);
        add("expected-start", state.expectedStart);
        const core::Wait& wait = ledger.wait(state.ticket);
        describeTaking(rows.back(), wait, ledger, lending);
        if (wait.taking && !wait.taking->victims.empty())
            add("taking-deadline", wait.taking->deadline);
    }
    return rows;
}

} // namespace genv::dbus
