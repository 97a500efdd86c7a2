// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/queue_descriptions.hpp"

#include "core/placement.hpp"

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

VariantMap describe(const core::Queue::WaitState& state, const core::Ledger& ledger,
                    std::uint32_t position) {
    const core::Environment& environment = ledger.get(ledger.waits().at(state.ticket));
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
    const core::Standing& standing = state.standing;
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
    return row;
}

} // namespace

std::vector<VariantMap> queueDescriptions(const core::Queue& queue, const core::Ledger& ledger,
                                          const core::Clock& clock, core::QueueOrder order) {
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
    }
    return rows;
}

} // namespace genv::dbus
