// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/lower_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace genv::top {

namespace {

/// Collects the cells of a row, in the order of the columns.
class Cells {
  public:
    Cells(const std::vector<Column>& columns, Charset charset)
        : columns_(columns), charset_(charset) {}

    void add(std::string_view foreign, Style style = style::plain) {
        const Column& column = columns_[cells_.size()];
        cells_.push_back(textCell(column, safe(foreign, charset_), style, charset_));
    }
    Line line() { return joinCells(columns_, std::move(cells_)); }

  private:
    const std::vector<Column>& columns_;
    Charset charset_;
    std::vector<Line> cells_;
};

std::string environmentText(const Frame& frame, const std::string& id) {
    for (const Gpu& gpu : frame.gpus) {
        for (const GpuHolder& holder : gpu.holders) {
            if (holder.environment == id && holder.name)
                return fmt::format("{} ({})", *holder.name, id);
        }
    }
    return id;
}

// Returns a function for the width of a column: that of its widest text, within bounds.
template <typename Row>
auto widthsOf(const std::vector<const Row*>& rows, Charset charset) {
    return [&rows, charset](std::size_t least, std::size_t max, auto text) {
        for (const Row* row : rows)
            least = std::max(least, cellsOf(safe(text(*row), charset), charset));
        return std::min(least, max);
    };
}

std::string gpuList(const Process& process) {
    return fmt::format("{}", fmt::join(process.gpus, ","));
}

} // namespace

ProcessListing::ProcessListing(const Frame& frame, const View& view, const Choice& choice,
                               std::size_t width)
    : frame_(frame), charset_(choice.charset) {
    const auto widest = widthsOf(view.processes, charset_);
    const std::size_t gpus = widest(3, 12, gpuList);
    const std::size_t user = widest(6, 20, [](const Process& process) { return process.user; });
    const std::size_t program =
        widest(12, 24, [](const Process& process) { return process.program; });
    columns_ = {
        {"GPU", gpus, gpus, 8, Align::Right},
        {"PID", 7, 10, 9, Align::Right},
        {"USER", std::min<std::size_t>(user, 7), user, 7},
        {"PROGRAM", std::min<std::size_t>(program, 10), program, 6},
        {"MEMORY", 6, 6, 5, Align::Right},
        {"UTIL", 4, 4, 2, Align::Right},
        {"TIME", 9, 9, 1, Align::Right},
        {"ENVIRONMENT", 10, 48, 4},
    };
    fitColumns(columns_, width);
}

Line ProcessListing::title() const {
    return titleOf(columns_, charset_);
}

Line ProcessListing::row(const Process& process) const {
    Cells cells(columns_, charset_);
    const bool isMine = process.uid == frame_.uid;
    cells.add(gpuList(process));
    cells.add(std::to_string(process.pid));
    cells.add(process.user, isMine ? style::accent : style::plain);
    cells.add(process.program);
    cells.add(process.memoryBytes ? shortAmount(*process.memoryBytes) : "?");
    cells.add(process.utilizationPercent ? fmt::format("{}%", *process.utilizationPercent) : "");
    cells.add(process.started ? spanBetween(*process.started, frame_.when) : "");
    if (process.environment)
        cells.add(environmentText(frame_, *process.environment));
    else
        cells.add("outside genv", style::warning);
    return cells.line();
}

QueueTable::QueueTable(const Frame& frame, const View& view, const Choice& choice,
                       std::size_t width)
    : frame_(frame), charset_(choice.charset) {
    const auto widest = widthsOf(view.waiters, charset_);
    const std::size_t user = widest(6, 20, [](const Waiter& waiter) { return waiter.user; });
    const std::size_t wanted = widest(5, 12, [](const Waiter& waiter) { return waiter.wanted; });
    const std::size_t reason = widest(0, 40, [](const Waiter& waiter) { return waiter.reason; });
    columns_ = {
        {"#", 3, 3, 7, Align::Right},
        {"WAITING", 9, 10, 3, Align::Right},
        {"USER", std::min<std::size_t>(user, 7), user, 6},
        {"WANTS", wanted, wanted, 5},
        {"ENVIRONMENT", 10, 48, 4},
        {reason > 0 ? "REASON" : "", std::max<std::size_t>(reason, 1), reason, 1},
    };
    fitColumns(columns_, width);
}

Line QueueTable::title() const {
    return titleOf(columns_, charset_);
}

Line QueueTable::row(const Waiter& waiter) const {
    Cells cells(columns_, charset_);
    const bool isMine = waiter.uid == frame_.uid;
    cells.add(std::to_string(waiter.place));
    cells.add(spanBetween(waiter.since, frame_.when));
    cells.add(waiter.user, isMine ? style::accent : style::plain);
    cells.add(waiter.wanted);
    cells.add(waiter.name ? fmt::format("{} ({})", *waiter.name, waiter.environment)
                          : waiter.environment);
    cells.add(waiter.reason);
    return cells.line();
}

} // namespace genv::top
