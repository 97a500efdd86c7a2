// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/sampler.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace genv::jobs {

namespace {

using namespace std::chrono_literals;

// A short task is sampled, too.
constexpr auto beforeFirst = 1s;
constexpr auto interval = 10s;

} // namespace

Sampler::Sampler(Book& book, ServiceLink& service, sd_event* loop)
    : book_(book), service_(service), timer_(loop, [this] {
          hasSampled_ = true;
          sample();
          onChange();
      }) {}

void Sampler::onChange() {
    const bool runs = std::ranges::any_of(book_.jobs(), [](const auto& entry) {
        return entry.second.gpus > 0 && entry.second.progress.running > 0;
    });
    if (runs) {
        timer_.start(hasSampled_ ? interval : beforeFirst);
    } else {
        timer_.stop();
        hasSampled_ = false;
    }
}

void Sampler::sample() {
    service_.readMemory([this](const std::map<std::string, std::uint64_t>& memory) {
        for (const AttemptName& attempt : book_.openAttempts()) {
            const auto used = memory.find(book_.task(attempt.task).record().last.environment);
            if (used != memory.end() && used->second > 0)
                book_.used(attempt, used->second);
        }
    });
}

} // namespace genv::jobs
