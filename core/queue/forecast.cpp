// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/queue/forecast.hpp"

#include "core/placement/placement.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace genv::core {

// A request that ends within `keepFor` can always run before one whose start is a guess, since such
// a start is never earlier than `keepFor` from now.
std::vector<Forecast::Hold> Forecast::holdsOn(const TableDevice& device,
                                              std::optional<std::chrono::seconds> lifetime) const {
    std::vector<Hold> holds;
    const BootTime guess = now_ + keepFor_;
    for (const Holder& holder : device.holders) {
        const auto end = endOf_(holder);
        holds.push_back(
            {now_, std::max(end.value_or(guess), now_), holder.attachment.share, false, !end});
    }
    if (device.health.state == Health::State::Lost)
        holds.push_back({now_, guess, std::nullopt, false, true});
    if (const auto planned = planned_.find(device.facts.uuid); planned != planned_.end()) {
        for (const Hold& hold : planned->second) {
            if (!hold.isGuessedStart || !lifetime || *lifetime > keepFor_)
                holds.push_back(hold);
        }
    }
    return holds;
}

// Like the reservations, this adds up all holds that overlap the time until the request ends. So a
// request that can start now according to the forecast is also placed now.
void Forecast::addWindows(const TableDevice& device, std::optional<Bytes> share,
                          std::optional<std::chrono::seconds> lifetime,
                          std::vector<Window>& windows) const {
    std::vector<Hold> holds = holdsOn(device, lifetime);
    if (share && device.memoryForShares() < device.memory())
        holds.push_back({now_, now_ + keepFor_, device.memory() - device.memoryForShares(), false,
                         true}); // nobody knows when unaccounted memory becomes free
    const auto canBeginAt = [&](BootTime moment) {
        Bytes held;
        for (const Hold& hold : holds) {
            if (hold.until <= moment || (lifetime && hold.from >= moment + *lifetime))
                continue;
            if (!share)
                return false;
            held = held + hold.share.value_or(device.memory());
        }
        return !share || held + *share <= device.memory();
    };
    // The result changes only at these moments.
    std::vector<BootTime> moments{now_};
    for (const Hold& hold : holds) {
        moments.push_back(hold.until);
        if (lifetime && hold.from - *lifetime >= now_)
            moments.push_back(hold.from - *lifetime + std::chrono::microseconds{1});
    }
    std::sort(moments.begin(), moments.end());
    moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
    bool couldBegin = false;
    for (const BootTime moment : moments) {
        const bool canBegin = canBeginAt(moment);
        if (canBegin && !couldBegin)
            windows.push_back({&device, moment, std::nullopt,
                               std::any_of(holds.begin(), holds.end(), [&](const Hold& hold) {
                                   return hold.isGuessedEnd && hold.until <= moment;
                               })});
        else if (!canBegin && couldBegin)
            windows.back().until = moment;
        couldBegin = canBegin;
    }
}

Forecast::Start Forecast::earliestOf(const std::vector<const TableDevice*>& candidates,
                                     std::size_t need, std::optional<Bytes> share,
                                     std::optional<std::chrono::seconds> lifetime) const {
    std::vector<Window> windows;
    for (const TableDevice* device : candidates)
        addWindows(*device, share, lifetime, windows);
    // The change in the number of usable devices at each moment.
    std::vector<std::pair<BootTime, int>> changes;
    for (const Window& window : windows) {
        changes.emplace_back(window.from, 1);
        if (window.until)
            changes.emplace_back(*window.until, -1);
    }
    std::sort(changes.begin(), changes.end());
    Start start{now_, {}, false};
    std::ptrdiff_t open = 0;
    for (auto change = changes.begin(); change != changes.end() && open < std::ptrdiff_t(need);) {
        start.at = change->first;
        for (; change != changes.end() && change->first == start.at; ++change)
            open += change->second;
    }
    std::erase_if(windows, [&](const Window& window) {
        return window.from > start.at || (window.until && *window.until <= start.at);
    });
    std::stable_sort(windows.begin(), windows.end(), [](const Window& a, const Window& b) {
        return std::tuple(a.isGuess, a.from, b.device->availableMemory()) <
               std::tuple(b.isGuess, b.from, a.device->availableMemory());
    });
    windows.resize(std::min(windows.size(), need));
    for (const Window& window : windows) {
        start.devices.push_back(window.device);
        start.isGuess = start.isGuess || window.isGuess;
    }
    return start;
}

Forecast::Start Forecast::earliest(const AttachRequest& request,
                                   const EnvironmentRecord& environment,
                                   std::optional<std::chrono::seconds> lifetime) const {
    if (!std::holds_alternative<CountWanted>(request.wanted)) {
        const auto named = namedDevices(request, devices_, &environment);
        return earliestOf(named, named.size(), request.share, lifetime);
    }
    const std::size_t need = missing(request, environment);
    std::optional<Start> first;
    for (const DeviceKind kind : {DeviceKind::Gpu, DeviceKind::MigInstance}) {
        const auto all = candidates(request, devices_, &environment, kind);
        if (all.size() < need)
            continue;
        Start start = earliestOf(all, need, request.share, lifetime);
        if (!first || start.at < first->at)
            first = std::move(start);
    }
    return first.value_or(Start{now_ + keepFor_, {}, true});
}

void Forecast::plan(const Start& start, std::optional<Bytes> share,
                    std::optional<std::chrono::seconds> lifetime) {
    const BootTime until = start.at + (lifetime ? std::chrono::microseconds{*lifetime} : keepFor_);
    for (const TableDevice* device : start.devices)
        planned_[device->facts.uuid].push_back(
            {start.at, until, share, start.isGuess, start.isGuess || !lifetime});
}

void Forecast::keep(const TableDevice& device, std::optional<Bytes> share, const Start& start) {
    planned_[device.facts.uuid].push_back(
        {start.at, start.at + std::chrono::microseconds{1}, share, start.isGuess, start.isGuess});
}

} // namespace genv::core
