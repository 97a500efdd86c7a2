// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/slurm/job_numbers.hpp"

#include "core/base/text.hpp"

#include <utility>

namespace genv::core {

namespace {

constexpr std::size_t maxFailureLength = 512;

} // namespace

void JobNumbers::find(Sluid sluid, Answer answer) {
    forgetUnused();
    const auto [place, isNew] = entries_.try_emplace(sluid);
    Entry& entry = place->second;
    const BootTime now = clock_.bootNow();
    entry.used = now;
    if (!entry.isAsked && !isNew && (entry.job || now - entry.answered < askJobAgainAfter)) {
        answer(entry.job);
        return;
    }
    entry.waiting.push_back(std::move(answer));
    if (!std::exchange(entry.isAsked, true))
        slurm_.findJob(sluid, [this, sluid](const auto& found) { take(sluid, found); });
}

std::optional<SlurmJobId> JobNumbers::known(Sluid sluid) const {
    const auto entry = entries_.find(sluid);
    return entry != entries_.end() ? entry->second.job : std::nullopt;
}

void JobNumbers::forgetUnused() {
    const BootTime now = clock_.bootNow();
    std::erase_if(entries_, [&](const auto& each) {
        return !each.second.isAsked && now - each.second.used >= jobAnswerKeptFor;
    });
}

void JobNumbers::take(Sluid sluid, const std::variant<SlurmJobId, SlurmFailure>& found) {
    Entry& entry = entries_[sluid];
    entry.isAsked = false;
    entry.answered = clock_.bootNow();
    if (const auto* number = std::get_if<SlurmJobId>(&found))
        entry.job = *number;
    else if (!std::exchange(entry.isFailureLogged, true))
        log_.warning("the number of Slurm job {} is unknown: {}", toString(sluid),
                     escaped(std::get<SlurmFailure>(found).reason, maxFailureLength));
    const std::optional<SlurmJobId> job = entry.job;
    // An answer may look for jobs again, which may remove this entry.
    for (const Answer& answer : std::exchange(entry.waiting, {}))
        answer(job);
}

} // namespace genv::core
