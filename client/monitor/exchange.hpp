// SPDX-License-Identifier: LGPL-2.1-or-later
// Connects the thread that talks to a machine with the threads that answer scrapes. A scrape gets
// the last sample if that is young enough. Otherwise, it requests a new sample and waits, up to a
// timeout. One new sample answers all waiting scrapes.
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
    /// `oldest` is the maximum age of a sample for a scrape. A sample that is older by at most
    /// `delay` is used if the next one is being taken and does not arrive in time. Throws
    /// std::system_error.
    explicit Exchange(std::chrono::nanoseconds oldest,
                      std::chrono::nanoseconds delay = std::chrono::nanoseconds{0});
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;
    ~Exchange();

    // -- for scrapes, from any thread

    /// Identifies the sample for a scrape, by the number of samples published before it.
    using Ticket = std::uint64_t;
    /// Requests a sample if the last one is too old, and does not wait. A scrape of many machines
    /// first requests all samples, so that the machines are queried at the same time.
    Ticket request();
    /// Waits for the sample of request() and returns it.
    Served get(Ticket ticket, std::chrono::steady_clock::time_point deadline);

    // -- for the thread that talks to the machine

    /// Readable once a sample has been requested.
    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    /// Whether a sample is requested that has not been published yet.
    bool takeRequest();
    void publish(Sample sample);
    /// Makes the next scrape request a sample, even if the last one is young.
    void expire();
    void countAction(const std::string& action, const std::string& reason);
    /// Counts a taking of GPUs on loan, with the time that it took.
    void countTaking(const std::string& result, double seconds);
    /// Counts an attempt to park an environment, with the time that it took.
    void countPark(const std::string& reason, const std::string& result, double seconds);
    /// Counts a resumed environment, with the time that it took, or a lost process.
    void countResume(const std::string& result, double seconds);
    void countError();
    void countFailure(const std::string& kind);

  private:
    [[nodiscard]] bool isFresh() const;
    [[nodiscard]] bool isYoungerThan(std::chrono::nanoseconds age) const;

    const std::chrono::nanoseconds oldest_;
    const std::chrono::nanoseconds delay_;
    int descriptor_;
    std::mutex mutex_; ///< guards the members below
    std::condition_variable published_;
    std::shared_ptr<const Sample> sample_;
    Ticket count_ = 0; ///< number of published samples
    bool isExpired_ = false;
    bool requested_ = false;
    Counters counters_;
};

} // namespace genv::monitor
