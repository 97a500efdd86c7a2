// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/refusal_watch.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <set>

namespace genv::core {

std::vector<Refusals> RefusalWatch::read() const {
    if (!gates_.absence().empty())
        return {};
    try {
        return gates_.refusals();
    } catch (const Error&) {
        return {}; // Isolation says what is wrong with the gate
    }
}

void RefusalWatch::check() {
    std::set<Key> present;
    for (const Refusals& refusals : read()) {
        present.insert({refusals.uid, refusals.node});
        take(refusals, hasRead_);
    }
    hasRead_ = true;
    // The kernel forgets the oldest.
    std::erase_if(known_, [&](const auto& entry) { return !present.contains(entry.first); });
}

void RefusalWatch::take(const Refusals& refusals, bool isNews) {
    Known& known = known_[{refusals.uid, refusals.node}];
    // A smaller count is one that the kernel forgot and began again.
    const std::uint64_t more =
        refusals.count >= known.count ? refusals.count - known.count : refusals.count;
    known.count = refusals.count;
    const DeviceFacts* device = isolation_.deviceWith(refusals.node);
    if (!isNews || device == nullptr)
        return;
    totals_[device->uuid] += more;
    known.untold += more;
    const BootTime now = clock_.bootNow();
    if (known.untold == 0 || (known.told && now - *known.told < refusalSilence))
        return;
    known.told = now;
    events_.tell(AccessRefused{refusals.uid, *device, std::exchange(known.untold, 0), refusals.pid,
                               refusals.command, isolation_.inForce() == IsolationMode::User});
}

std::vector<CountedOpens> RefusalWatch::list() const {
    std::vector<CountedOpens> rows;
    const WallTime wallNow = clock_.wallNow();
    const BootTime bootNow = clock_.bootNow();
    for (Refusals& refusals : read()) {
        const DeviceFacts* device = isolation_.deviceWith(refusals.node);
        rows.push_back({refusals.uid, refusals.node,
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
