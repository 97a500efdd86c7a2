// SPDX-License-Identifier: LGPL-2.1-or-later
// The same work for many hosts at once: a bounded number of worker threads, each host with a
// deadline of its own, so that one that is down or hangs holds nothing up. Workers only fill in
// their host's answer; everything is told on the thread that called.
#pragma once

#include "client/remote/ssh/session.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace genv::remote {

/// How many hosts are worked on at the same time.
inline constexpr std::size_t mostHostsAtOnce = 64;

struct GatheringOptions {
    std::chrono::milliseconds deadline{10'000}; ///< of each host, from when its turn begins
    bool stopAtFailure = false; ///< the first failure ends the work for the other hosts
};

/// What came of one host: a value or a failure.
template <typename Value>
struct Gathered {
    Host host;
    std::optional<Value> value;
    std::optional<HostFailure> failure;
};

/// Runs `work(index, bounds)` on worker threads, once for each of `count`, and `done(index)` on the
/// calling thread as each one has ended. `done` returns whether to go on; where it says no, what
/// runs is cancelled and what has not begun is not begun. Returns when every worker has ended.
void forEachHost(std::size_t count, std::chrono::milliseconds deadline,
                 const std::function<void(std::size_t, const SshBounds&)>& work,
                 const std::function<bool(std::size_t)>& done);

/// Asks every host, `ask(host, bounds)`, and returns what came of each, in the order of the hosts.
/// `told(gathered, answered)` hears of each on the calling thread as it comes; `answered` counts
/// those so far. What throws anything but HostFailure ends as a failure of its host.
template <typename Value>
std::vector<Gathered<Value>>
gather(const std::vector<Host>& hosts, const GatheringOptions& options,
       const std::function<Value(const Host&, const SshBounds&)>& ask,
       const std::function<void(const Gathered<Value>&, std::size_t answered)>& told) {
    std::vector<Gathered<Value>> all;
    all.reserve(hosts.size());
    for (const Host& host : hosts)
        all.push_back({host, std::nullopt, std::nullopt});
    std::size_t answered = 0;
    forEachHost(
        hosts.size(), options.deadline,
        [&](std::size_t index, const SshBounds& bounds) {
            Gathered<Value>& mine = all[index];
            try {
                mine.value = ask(mine.host, bounds);
            } catch (const HostFailure& failure) {
                mine.failure = failure;
            } catch (const std::exception& error) {
                mine.failure = HostFailure(Trouble::Failed, lastLine(error.what()));
            }
        },
        [&](std::size_t index) {
            told(all[index], ++answered);
            return !(options.stopAtFailure && all[index].failure);
        });
    for (Gathered<Value>& one : all) {
        if (!one.value && !one.failure)
            one.failure.emplace(Trouble::Cancelled, "not asked");
    }
    return all;
}

} // namespace genv::remote
