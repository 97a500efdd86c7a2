// SPDX-License-Identifier: LGPL-2.1-or-later
// Between the one thread that talks to the service and those that answer scrapes. A scrape is
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
    /// `oldest` is the age up to which a sample answers a scrape, `patience` how long one waits for
    /// a new one. Throws std::system_error.
    Exchange(std::chrono::nanoseconds oldest, std::chrono::nanoseconds patience);
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;
    ~Exchange();

    // -- for scrapes, from any thread

    struct Served {
        std::shared_ptr<const Sample> sample; ///< null: none came in time
        Counters counters;
    };
    Served get();

    // -- for the thread that talks to the service

    /// Readable once a sample has been asked for.
    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    /// Whether a sample is wanted that none of those published so far has given.
    bool takeRequest();
    void publish(Sample sample);
    /// Makes the next scrape ask for a sample, however young the last one is.
    void expire();
    void countAction(const std::string& action, const std::string& reason);
    void countError();

  private:
    bool isFresh() const;

    const std::chrono::nanoseconds oldest_;
    const std::chrono::nanoseconds patience_;
    int descriptor_;
    std::mutex mutex_; ///< guards what follows
    std::condition_variable published_;
    std::shared_ptr<const Sample> sample_;
    std::uint64_t count_ = 0; ///< of published samples
    bool requested_ = false;
    Counters counters_;
};

} // namespace genv::monitor
