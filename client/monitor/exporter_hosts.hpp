// SPDX-License-Identifier: LGPL-2.1-or-later
// All hosts of an exporter. Each host has its own thread, so that no host waits for another. Also
// collects their samples for scrapes.
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

/// A host could not be queried, and the options require the exporter to end.
class HostEnded : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct HostsSettings {
    std::chrono::milliseconds timeout{5000}; ///< of each connection and sample
    std::chrono::seconds interval{10};       ///< the maximum age of a sample
    bool isQuiet = false;                    ///< do not print messages about hosts
    bool endsWithOne = false;                ///< end at the first host that cannot be queried
};

class Hosts {
  public:
    /// The labels of the hosts must be distinct. Throws std::system_error.
    Hosts(const std::vector<remote::Host>& hosts, const HostsSettings& settings);
    Hosts(const Hosts&) = delete;
    Hosts& operator=(const Hosts&) = delete;
    ~Hosts();

    /// Returns the samples of all hosts; may be called from any thread. Requests all samples at
    /// once, and waits until the deadline. A host that has not answered by then has no sample.
    std::vector<ServedHost> get(std::chrono::steady_clock::time_point deadline);

    /// Runs until the descriptor is readable. After that, scrapes get no samples and do not wait.
    /// Throws HostEnded.
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
    int stopDescriptor_; ///< readable once all threads must end
    Deadlines deadlines_;
    std::vector<std::unique_ptr<One>> all_;
    std::mutex mutex_; ///< guards the members below
    std::optional<std::string> failure_;
};

} // namespace genv::monitor
