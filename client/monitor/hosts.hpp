// SPDX-License-Identifier: LGPL-2.1-or-later
// All hosts of an exporter: a thread for each, so that none waits for another, and what a scrape
// gets of them.
#pragma once

#include "client/monitor/host_watch.hpp"
#include "client/monitor/metrics.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace genv::monitor {

/// A host could not be asked, and that was to end the exporter.
class HostEnded : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct HostsSettings {
    std::chrono::milliseconds timeout{5000}; ///< of each connection and sample
    std::chrono::seconds interval{10};       ///< the oldest sample that is served
    bool isQuiet = false;                    ///< nothing is told of hosts
    bool endsWithOne = false;                ///< the first that cannot be asked ends it
};

class Hosts {
  public:
    /// The labels of the hosts differ. Throws std::system_error.
    Hosts(const std::vector<remote::Host>& hosts, const HostsSettings& settings);
    Hosts(const Hosts&) = delete;
    Hosts& operator=(const Hosts&) = delete;
    ~Hosts();

    /// What is known of all of them, from any thread: it asks all at the same time and waits no
    /// longer than until then; a host that has not answered has no sample.
    std::vector<ServedHost> get(std::chrono::steady_clock::time_point deadline);

    /// Works until the descriptor is readable; scrapes get no samples from then on and wait for
    /// none. Throws HostEnded.
    void run(int stopDescriptor);

  private:
    struct One {
        One(remote::Host its, std::chrono::nanoseconds oldest, std::chrono::nanoseconds delay)
            : host(std::move(its)), exchange(oldest, delay) {}
        remote::Host host;
        Exchange exchange;
    };
    void end();
    void watch(One& one);
    void failed(const remote::Host& host, const remote::HostFailure& failure);

    HostsSettings settings_;
    int stopDescriptor_; ///< readable once all threads are to end
    Deadlines deadlines_;
    std::vector<std::unique_ptr<One>> all_;
    std::mutex mutex_; ///< guards what follows
    std::optional<std::string> failure_;
};

} // namespace genv::monitor
