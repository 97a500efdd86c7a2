// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/gpu_rows.hpp"

#include "client/top/bars.hpp"
#include "client/top/sensor_text.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace genv::top {

namespace {

enum : std::size_t {
    Id,
    Model,
    User,
    Environment,
    Memory,
    Utilization,
    LastMinutes,
    Temperature,
    Power,
    Lease
};

// Removes the maker's name, which all models share.
std::string_view shortModel(std::string_view model) {
    for (const std::string_view maker : {"NVIDIA GeForce ", "NVIDIA "}) {
        if (model.starts_with(maker) && model.size() > maker.size())
            return model.substr(maker.size());
    }
    return model;
}

template <typename Text>
std::size_t widest(const std::vector<const Gpu*>& gpus, std::size_t least, Text text) {
    for (const Gpu* gpu : gpus)
        least = std::max(least, text(*gpu));
    return least;
}

std::string memoryText(const Gpu& gpu) {
    return gpu.totalMemoryBytes ? usedOf(gpu.usedMemoryBytes, *gpu.totalMemoryBytes) : "";
}

std::string holderText(const GpuHolder& holder) {
    return holder.name ? fmt::format("{} ({})", *holder.name, holder.environment)
                       : holder.environment;
}

double partOf(std::uint64_t used, std::uint64_t total) {
    return total == 0 ? 0 : static_cast<double>(used) / static_cast<double>(total);
}

} // namespace

GpuTable::GpuTable(const Frame& frame, const View& view, const Choice& choice, std::size_t width)
    : frame_(frame), charset_(choice.charset) {
    const auto& gpus = view.gpus;
    const auto cells = [&](std::string_view text) { return cellsOf(text, charset_); };
    const auto safeCells = [&](std::string_view text) { return cells(safe(text, charset_)); };
    amountWidth_ = widest(gpus, 6, [&](const Gpu& gpu) { return cells(memoryText(gpu)); });
    const std::size_t id = widest(gpus, 3, [&](const Gpu& gpu) { return safeCells(gpu.label); });
    const std::size_t model = std::min<std::size_t>(
        24, widest(gpus, 5, [&](const Gpu& gpu) { return safeCells(shortModel(gpu.model)); }));
    const std::size_t user = std::min<std::size_t>(
        20, widest(gpus, 6, [&](const Gpu& gpu) {
            const GpuHolder* holder = firstHolder(frame, gpu);
            return holder == nullptr ? 6
                                     : safeCells(holder->user) + (gpu.holders.size() > 1 ? 3 : 0);
        }));
    const std::size_t environment = std::min<std::size_t>(
        32, widest(gpus, 12, [&](const Gpu& gpu) {
            if (const GpuHolder* holder = firstHolder(frame, gpu))
                return safeCells(holderText(*holder));
            return gpu.unaccountedBytes > 0
                       ? cells(core::describeUnaccounted({gpu.unaccountedBytes}))
                       : 12;
        }));
    const bool isMeasured =
        std::ranges::any_of(gpus, [](const Gpu* gpu) { return gpu->totalMemoryBytes.has_value(); });
    const bool hasPower = std::ranges::any_of(
        gpus, [](const Gpu* gpu) { return gpu->sensors.powerMilliwatts.has_value(); });
    constexpr std::size_t never = 0;
    columns_ = {
        {"GPU", id, id, 10, Align::Right},
        {"MODEL", std::min<std::size_t>(model, 9), model, 4},
        {"USER", std::min<std::size_t>(user, 9), user, 9},
        {"ENVIRONMENT", std::min<std::size_t>(environment, 11), environment, 6},
        {"MEMORY", isMeasured ? amountWidth_ + 5 : never, amountWidth_ + 25, 8, Align::Left, true},
        {"UTIL", isMeasured ? 8U : never, 29, 7, Align::Left, true},
        {"10 MINUTES", isMeasured ? 10U : never, 60, 3, Align::Left, true},
        {"TEMP", isMeasured ? 5U : never, 5, 2, Align::Right},
        {"POWER", hasPower ? 5U : never, 9, 1, Align::Right},
        {"LEASE", 9, 9, 5},
    };
    fitColumns(columns_, width);
}

Line GpuTable::title() const {
    return titleOf(columns_, charset_);
}

Line GpuTable::row(const Gpu& gpu) const {
    std::vector<Line> cells;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const Column& column = columns_[i];
        const auto text = [&](std::string_view words, Style style) {
            return textCell(column, safe(words, charset_), style, charset_);
        };
        switch (i) {
        case Id:
            cells.push_back(text(gpu.label, gpu.health == "ok" ? style::bold : style::bad));
            break;
        case Model:
            cells.push_back(text(shortModel(gpu.model), style::plain));
            break;
        case User:
            cells.push_back(user(gpu, column));
            break;
        case Environment:
            cells.push_back(environment(gpu, column));
            break;
        case Memory:
            cells.push_back(memory(gpu, column));
            break;
        case Utilization:
            cells.push_back(utilization(gpu, column));
            break;
        case LastMinutes:
            cells.push_back(history(gpu, column));
            break;
        case Temperature:
            cells.push_back(
                textCell(column, temperatureText(gpu.sensors, charset_), style::plain, charset_));
            break;
        case Power:
            cells.push_back(
                textCell(column, powerText(gpu.sensors, column.width), style::plain, charset_));
            break;
        default:
            cells.push_back(lease(gpu, column));
        }
    }
    return joinCells(columns_, std::move(cells));
}

Line GpuTable::memory(const Gpu& gpu, const Column& column) const {
    if (column.width <= amountWidth_ || !gpu.totalMemoryBytes)
        return textCell(column, memoryText(gpu), style::plain, charset_);
    const std::size_t width = column.width - amountWidth_ - 1;
    Line line = bar(partOf(gpu.usedMemoryBytes.value_or(0), *gpu.totalMemoryBytes), width,
                    style::memory, charset_);
    line.push_back(
        {" " + fitted(memoryText(gpu), amountWidth_, charset_, Align::Right), style::plain});
    return line;
}

Line GpuTable::utilization(const Gpu& gpu, const Column& column) const {
    constexpr std::size_t percentWidth = 5; // with a space
    if (column.width < percentWidth)
        return {};
    const double part = gpu.sensors.utilizationPercent.value_or(0) / 100.0;
    Line line = bar(part, column.width - percentWidth, styleOfUse(part), charset_);
    line.push_back(
        {fitted(percentText(gpu.sensors), percentWidth, charset_, Align::Right), style::plain});
    return line;
}

Line GpuTable::history(const Gpu& gpu, const Column& column) const {
    const std::size_t width = sparklineWidth(column.width);
    Line line = sparkline(gpu.history, width, charset_);
    line.push_back({std::string(column.width - width, ' '), style::plain});
    return line;
}

Line GpuTable::user(const Gpu& gpu, const Column& column) const {
    if (const GpuHolder* holder = firstHolder(frame_, gpu)) {
        const std::string others =
            gpu.holders.size() > 1 ? fmt::format(" +{}", gpu.holders.size() - 1) : "";
        const std::size_t room = column.width - std::min(column.width, others.size());
        const std::string name = cut(safe(holder->user, charset_), room, charset_) + others;
        return textCell(column, name, holder->uid == frame_.uid ? style::accent : style::plain,
                        charset_);
    }
    if (const Process* outsider = outsiderOn(frame_, gpu))
        return textCell(column, safe(outsider->user, charset_), style::warning, charset_);
    return textCell(column, "", style::plain, charset_);
}

Line GpuTable::environment(const Gpu& gpu, const Column& column) const {
    if (const GpuHolder* holder = firstHolder(frame_, gpu)) {
        std::string text = safe(holderText(*holder), charset_);
        if (holder->name && cellsOf(text, charset_) > column.width)
            text = safe(*holder->name, charset_); // details have the rest
        return textCell(column, text, holder->isLingering ? style::dim : style::plain, charset_);
    }
    if (outsiderOn(frame_, gpu) != nullptr)
        return textCell(column, "outside genv", style::warning, charset_);
    if (gpu.unaccountedBytes > 0) {
        const std::string text = core::describeUnaccounted({gpu.unaccountedBytes});
        return textCell(column, cellsOf(text, charset_) <= column.width ? text : "no process",
                        style::warning, charset_); // details have the rest
    }
    if (gpu.reservedFor)
        return textCell(column, "for " + safe(*gpu.reservedFor, charset_), style::dim, charset_);
    return textCell(column, gpu.isFree ? "free" : "", style::good, charset_);
}

// A fault of a GPU is more important than the end of its lease.
Line GpuTable::lease(const Gpu& gpu, const Column& column) const {
    if (gpu.health != "ok")
        return textCell(column, safe(gpu.health, charset_), style::bad, charset_);
    const GpuHolder* holder = firstHolder(frame_, gpu);
    if (holder == nullptr)
        return textCell(column, "", style::plain, charset_);
    if (!holder->parking.empty())
        return textCell(column, safe(holder->parking, charset_), style::warning, charset_);
    if (holder->isLingering)
        return textCell(column, "lingering", style::dim, charset_);
    if (!holder->expires)
        return textCell(column, holder->isOnLoan ? "on loan" : "-", style::dim, charset_);
    constexpr std::chrono::minutes soon{10};
    return textCell(column, spanBetween(frame_.when, *holder->expires),
                    *holder->expires - frame_.when < soon ? style::warning : style::plain,
                    charset_);
}

} // namespace genv::top
