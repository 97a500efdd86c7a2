// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/model/kinds.hpp"

#include <algorithm>
#include <array>

namespace genv::messages {

namespace {

enum class Choice : std::uint8_t { Default, OnRequest, Never };

struct KindRow {
    Kind kind;
    std::string_view name;
    Choice choice;
};

constexpr std::array kindRows{
    KindRow{Kind::JobEnded, "job-ended", Choice::Default},
    KindRow{Kind::JobFailed, "job-failed", Choice::Default},
    KindRow{Kind::Granted, "granted", Choice::Default},
    KindRow{Kind::Taken, "taken", Choice::Default},
    KindRow{Kind::Lease, "lease", Choice::Default},
    KindRow{Kind::Parked, "parked", Choice::OnRequest},
    KindRow{Kind::Memory, "memory", Choice::OnRequest},
    KindRow{Kind::Unhealthy, "unhealthy", Choice::OnRequest},
    KindRow{Kind::Test, "test", Choice::Never},
};

template <typename Condition>
Kinds kindsWith(Condition condition) {
    Kinds kinds;
    for (const KindRow& row : kindRows)
        if (condition(row.choice))
            kinds.insert(row.kind);
    return kinds;
}

} // namespace

std::string_view nameOf(Kind kind) {
    return std::find_if(kindRows.begin(), kindRows.end(),
                        [kind](const KindRow& row) { return row.kind == kind; })
        ->name;
}

std::optional<Kind> kindNamed(std::string_view word) {
    const auto* row = std::find_if(kindRows.begin(), kindRows.end(),
                                   [word](const KindRow& each) { return each.name == word; });
    return row == kindRows.end() ? std::nullopt : std::optional(row->kind);
}

const Kinds& allKinds() {
    static const Kinds kinds = kindsWith([](Choice choice) { return choice != Choice::Never; });
    return kinds;
}

const Kinds& defaultKinds() {
    static const Kinds kinds = kindsWith([](Choice choice) { return choice == Choice::Default; });
    return kinds;
}

std::string namesOf(const Kinds& kinds) {
    std::string text;
    for (const Kind kind : kinds)
        text.append(text.empty() ? "" : ", ").append(nameOf(kind));
    return text;
}

} // namespace genv::messages
