// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/history_store.hpp"

#include <algorithm>

namespace genv::top {

namespace {

constexpr auto steps = static_cast<std::int64_t>(historySteps);

std::int64_t numberOf(Time when) {
    return std::max<std::int64_t>(
        0, std::chrono::duration_cast<std::chrono::seconds>(when.time_since_epoch()).count() / 10);
}

} // namespace

void HistoryStore::add(std::uint32_t gpu, Time when, std::uint32_t percent) {
    const std::int64_t number = numberOf(when);
    Step& step = steps_[gpu].at(static_cast<std::size_t>(number % steps));
    if (step.number > number || (step.number == number && step.last && *step.last >= when))
        return; // it is known already
    if (step.number != number)
        step = {number, 0, 0, {}};
    step.sum += std::min(percent, 100U);
    ++step.count;
    step.last = when;
}

History HistoryStore::of(std::uint32_t gpu, Time now) const {
    History history = unknownHistory;
    const auto found = steps_.find(gpu);
    if (found == steps_.end())
        return history;
    const std::int64_t last = numberOf(now);
    for (const Step& step : found->second) {
        if (step.count > 0 && step.number <= last && step.number > last - steps)
            history.at(static_cast<std::size_t>(steps - 1 - (last - step.number))) =
                static_cast<std::uint8_t>(step.sum / step.count);
    }
    return history;
}

} // namespace genv::top
