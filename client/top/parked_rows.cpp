// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/parked_rows.hpp"

#include "client/top/cell_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace genv::top {

namespace {

std::string nameOf(const Parked& parked) {
    return parked.name ? fmt::format("{} ({})", *parked.name, parked.environment)
                       : parked.environment;
}

// A problem is what the user must know first.
std::string stateOf(const Parked& parked, Time now) {
    if (!parked.problem.empty())
        return fmt::format("{}: {}", parked.state, parked.problem);
    std::string state = parked.state;
    if (parked.state != "resuming" && !parked.takenBy.empty())
        state += " for " + parked.takenBy;
    if (parked.state == "parked" && parked.expected)
        state += ", back about " + momentOf(*parked.expected, now);
    return state;
}

} // namespace

std::string parkedMemory(const Parked& parked) {
    return parked.bytesToMove > 0 ? usedOf(parked.movedBytes, parked.bytesToMove)
                                  : shortAmount(parked.memoryBytes);
}

std::string parkedGpus(const Parked& parked) {
    return fmt::format("{}", fmt::join(parked.gpus, ","));
}

ParkedTable::ParkedTable(const Frame& frame, const View& view, const Choice& choice,
                         std::size_t width)
    : frame_(frame), charset_(choice.charset) {
    const auto widest = [&](std::size_t least, std::size_t max, auto text) {
        for (const Parked* parked : view.parked)
            least = std::max(least, cellsOf(safe(text(*parked), charset_), charset_));
        return std::min(least, max);
    };
    const std::size_t gpus = widest(3, 12, parkedGpus);
    const std::size_t user = widest(6, 20, [](const Parked& parked) { return parked.user; });
    const std::size_t memory = widest(6, 14, parkedMemory);
    const std::size_t environment = widest(11, 48, nameOf);
    const std::size_t state =
        widest(8, 200, [&](const Parked& parked) { return stateOf(parked, frame.when); });
    columns_ = {
        {"GPU", gpus, gpus, 4, Align::Right},
        {"SINCE", 9, 9, 3, Align::Right},
        {"USER", std::min<std::size_t>(user, 7), user, 6},
        {"MEMORY", memory, memory, 7, Align::Right},
        {"ENVIRONMENT", 10, environment, 5},
        {"STATE", 8, state, 8},
    };
    fitColumns(columns_, width);
}

Line ParkedTable::title() const {
    return titleOf(columns_, charset_);
}

Line ParkedTable::row(const Parked& parked) const {
    std::vector<Line> cells;
    const auto add = [&](std::string_view foreign, Style style = style::plain) {
        cells.push_back(textCell(columns_[cells.size()], safe(foreign, charset_), style, charset_));
    };
    add(parkedGpus(parked));
    add(parked.since ? spanBetween(*parked.since, frame_.when) : "");
    add(parked.user, parked.uid == frame_.uid ? style::accent : style::plain);
    add(parkedMemory(parked));
    add(nameOf(parked));
    add(stateOf(parked, frame_.when), parked.problem.empty() ? style::plain : style::bad);
    return joinCells(columns_, std::move(cells));
}

} // namespace genv::top
