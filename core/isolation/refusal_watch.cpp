// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/isolation/refusal_watch.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace genv::core {

namespace {

// Returns how much a counter has grown. A smaller number means that the kernel dropped the counter
// and started again.
std::uint64_t growth(std::uint64_t before, std::uint64_t now) {
    return now >= before ? now - before : now;
}

OpenCounts growth(const OpenCounts& before, const OpenCounts& now) {
    return {growth(before.refused, now.refused), growth(before.watched, now.watched)};
}

} // namespace

std::optional<std::vector<RefusedOpens>> RefusalWatch::read() const {
    // Without a gate, nothing was counted.
    if (!gates_.absence().empty())
        return gates_.isUnusable() ? std::nullopt : std::optional(std::vector<RefusedOpens>{});
    try {
        return gates_.refusals();
    } catch (const Error&) {
        return std::nullopt; // Isolation reports problems of the gate
    }
}

void RefusalWatch::report(std::chrono::minutes silence) {
    const auto all = read();
    if (!all)
        return;
    if (!hasRead_)
        resume(*all);
    NewsOfAll news;
    std::set<Key> present;
    for (const RefusedOpens& refusals : *all) {
        present.insert({refusals.uid, refusals.node});
        take(refusals, news);
    }
    hasRead_ = true;
    // The kernel drops the oldest entries.
    std::erase_if(counters_, [&](const auto& entry) { return !present.contains(entry.first); });
    const BootTime now = clock_.bootNow();
    std::erase_if(reportedAt_, [&](const auto& entry) { return now - entry.second >= silence; });
    bool hasReported = false;
    for (const auto& [key, each] : news) {
        if (!reportedAt_.try_emplace(key, now).second)
            continue;
        emit(each);
        for (Counter* counter : each.counters)
            counter->reported = counter->known;
        hasReported = true;
    }
    if (hasReported)
        store();
}

// Continues after the last report of the service before this one.
void RefusalWatch::resume(const std::vector<RefusedOpens>& all) {
    const auto reported = store_.read();
    for (const RefusedOpens& refusals : all) {
        Counter& counter = counters_[{refusals.uid, refusals.node}];
        counter.known = refusals.counts;
        if (!reported) // report nothing twice
            counter.reported = refusals.counts;
    }
    if (!reported) {
        store();
        return;
    }
    for (const ReportedOpens& each : *reported) {
        if (const auto found = counters_.find({each.uid, each.node}); found != counters_.end())
            found->second.reported = each.counts;
    }
}

void RefusalWatch::take(const RefusedOpens& refusals, NewsOfAll& news) {
    Counter& counter = counters_[{refusals.uid, refusals.node}];
    const OpenCounts more = growth(counter.known, refusals.counts);
    if (refusals.counts.refused < counter.reported.refused ||
        refusals.counts.watched < counter.reported.watched)
        counter.reported = {};
    counter.known = refusals.counts;
    const DeviceFacts* device = isolation_.deviceWith(refusals.node);
    if (device == nullptr)
        return; // reported as soon as the driver names the device
    totals_[device->uuid] += more.refused + more.watched;
    const OpenCounts unreported = growth(counter.reported, counter.known);
    if (unreported == OpenCounts{})
        return;
    News& own = news[{refusals.uid, device->uuid}];
    own.counts.refused += unreported.refused;
    own.counts.watched += unreported.watched;
    own.counters.push_back(&counter);
    if (own.counters.size() == 1 || refusals.last > own.at) {
        own.at = refusals.last;
        own.last = {refusals.uid, *device, 0, refusals.pid, refusals.command, true};
    }
}

void RefusalWatch::emit(const News& news) const {
    AccessRefused event = news.last;
    for (const bool isRefused : {false, true}) {
        event.isRefused = isRefused;
        event.count = isRefused ? news.counts.refused : news.counts.watched;
        if (event.count > 0)
            events_.emit(event);
    }
}

void RefusalWatch::store() {
    std::vector<ReportedOpens> reported;
    for (const auto& [key, counter] : counters_) {
        if (!(counter.reported == OpenCounts{}))
            reported.push_back({key.first, key.second, counter.reported});
    }
    store_.write(reported);
}

std::vector<CountedOpens> RefusalWatch::list() const {
    std::vector<CountedOpens> rows;
    const WallTime wallNow = clock_.wallNow();
    const BootTime bootNow = clock_.bootNow();
    const bool watches = isolation_.onlyWatches();
    std::vector<RefusedOpens> all = read().value_or(std::vector<RefusedOpens>{});
    for (RefusedOpens& refusals : all) {
        const std::uint64_t count = watches ? refusals.counts.watched : refusals.counts.refused;
        if (count == 0)
            continue;
        const DeviceFacts* device = isolation_.deviceWith(refusals.node);
        rows.push_back({refusals.uid, isolation_.nameOf(refusals.node),
                        device != nullptr ? std::optional(device->index) : std::nullopt, count,
                        wallNow - (bootNow - refusals.last), refusals.pid,
                        std::move(refusals.command)});
    }
    std::ranges::sort(rows, std::ranges::greater{}, &CountedOpens::last);
    return rows;
}

std::uint64_t RefusalWatch::countOf(const DeviceUuid& device) const {
    const auto found = totals_.find(device);
    return found == totals_.end() ? 0 : found->second;
}

} // namespace genv::core
