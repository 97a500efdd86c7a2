// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/refusal_watch.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace genv::core {

std::optional<std::vector<Refusals>> RefusalWatch::read() const {
    // Without a gate, nothing was counted.
    if (!gates_.absence().empty())
        return gates_.isUnusable() ? std::nullopt : std::optional(std::vector<Refusals>{});
    try {
        return gates_.refusals();
    } catch (const Error&) {
        return std::nullopt; // Isolation reports problems of the gate
    }
}

void RefusalWatch::check() {
    const auto all = read();
    if (!all)
        return;
    std::set<Key> present;
    for (const Refusals& refusals : *all) {
        present.insert({refusals.uid, refusals.node});
        take(refusals);
    }
    hasRead_ = true;
    // The kernel drops the oldest entries.
    std::erase_if(known_, [&](const auto& entry) { return !present.contains(entry.first); });
    std::erase_if(news_, [now = clock_.bootNow()](const auto& entry) {
        const News& news = entry.second;
        return news.unreported == 0 && news.reported && now - *news.reported >= refusalSilence;
    });
}

void RefusalWatch::take(const Refusals& refusals) {
    std::uint64_t& known = known_[{refusals.uid, refusals.node}];
    // A smaller count means that the kernel dropped the entry and started again.
    const std::uint64_t more = refusals.count >= known ? refusals.count - known : refusals.count;
    known = refusals.count;
    const DeviceFacts* device = isolation_.deviceWith(refusals.node);
    if (!hasRead_ || device == nullptr)
        return;
    totals_[device->uuid] += more;
    news_[{refusals.uid, device->uuid}].unreported += more;
    emit(refusals, *device);
}

void RefusalWatch::emit(const Refusals& last, const DeviceFacts& device) {
    News& news = news_[{last.uid, device.uuid}];
    const BootTime now = clock_.bootNow();
    if (news.unreported == 0 || (news.reported && now - *news.reported < refusalSilence))
        return;
    news.reported = now;
    events_.emit(AccessRefused{last.uid, device, std::exchange(news.unreported, 0), last.pid,
                               last.command, isolation_.inForce() == IsolationMode::User});
}

std::vector<CountedOpens> RefusalWatch::list() const {
    std::vector<CountedOpens> rows;
    const WallTime wallNow = clock_.wallNow();
    const BootTime bootNow = clock_.bootNow();
    std::vector<Refusals> all = read().value_or(std::vector<Refusals>{});
    for (Refusals& refusals : all) {
        const DeviceFacts* device = isolation_.deviceWith(refusals.node);
        rows.push_back({refusals.uid, isolation_.nameOf(refusals.node),
                        device != nullptr ? std::optional(device->index) : std::nullopt,
                        refusals.count, wallNow - (bootNow - refusals.last), refusals.pid,
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
