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

std::vector<VariantMap> queueDescriptions(const core::Queue& queue, const core::Ledger& ledger) {
    std::vector<VariantMap> rows;
    for (const core::Queue::WaitState& state : queue.states())
        rows.push_back(describe(state, ledger, static_cast<std::uint32_t>(rows.size() + 1)));
    return rows;
}

} // namespace genv::dbus
