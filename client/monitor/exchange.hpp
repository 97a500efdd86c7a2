// SPDX-License-Identifier: LGPL-2.1-or-later
// Between the one thread that talks to a machine and those that answer scrapes. A scrape is
// answered from the last sample while that is young enough; else it asks for one and waits, for a
// bounded time. However many scrapes wait, one sample answers them all.
#pragma once

#include "client/monitor/sample.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace genv::monitor {

class Exchange {
  public:
    /// `oldest` is the age up to which a sample answers a scrape; one that is older by up to
    /// `delay` does where the next is under way and does not come in time. Throws
    /// std::system_error.
    explicit Exchange(std::chrono::nanoseconds oldest,
                      std::chrono::nanoseconds delay = std::chrono::nanoseconds{0});
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;
    ~Exchange();

    // -- for scrapes, from any thread

    /// Which sample answers a scrape, by how many have been published before it.
    using Ticket = std::uint64_t;
    /// Asks for a sample where the last one is too old, and waits for none: what a scrape of many
    /// machines does first, so that they are asked at the same time.
    Ticket request();
    /// What request() asked for, as soon as it is there.
    Served get(Ticket ticket, std::chrono::steady_clock::time_point deadline);

    // -- for the thread that talks to the machine

    /// Readable once a sample has been asked for.
    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    /// Whether a sample is wanted that none of those published so far has given.
    bool takeRequest();
    void publish(Sample sample);
    /// Makes the next scrape ask for a sample, however young the last one is.
    void expire();
    void countAction(const std::string& action, const std::string& reason);
    void countError();
    void countFailure(const std::string& kind);

  private:
    [[nodiscard]] bool isFresh() const;
    [[nodiscard]] bool isYoungerThan(std::chrono::nanoseconds age) const;

    const std::chrono::nanoseconds oldest_;
    const std::chrono::nanoseconds delay_;
    int descriptor_;
    std::mutex mutex_; ///< guards what follows
    std::condition_variable published_;
    std::shared_ptr<const Sample> sample_;
    Ticket count_ = 0; ///< of published samples
    bool isExpired_ = false;
    bool requested_ = false;
    Counters counters_;
};

} // namespace genv::monitor
