// SPDX-License-Identifier: LGPL-2.1-or-later
// Performs the same work for many hosts at once, with a bounded number of worker threads and a
// deadline for each host, so that a host that is down or hangs delays no other host. Workers only
// store the results of their hosts; all callbacks run on the calling thread.
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

/// The number of hosts that are processed at the same time.
inline constexpr std::size_t maxConcurrentHosts = 64;

struct GatheringOptions {
    std::chrono::milliseconds deadline{10'000}; ///< of each host, from the start of its work
    bool stopAtFailure = false; ///< cancel the work for all other hosts at the first failure
};

/// The result of one host: a value or a failure.
template <typename Value>
struct Gathered {
    Host host;
    std::optional<Value> value;
    std::optional<HostFailure> failure;
};

/// Runs `work(index, bounds)` on worker threads once for each of `count` hosts, and `done(index)`
/// on the calling thread after each. If `done` returns false, running work is cancelled and no more
/// work is started. Returns when all workers have ended.
void forEachHost(std::size_t count, std::chrono::milliseconds deadline,
                 const std::function<void(std::size_t, const SshBounds&)>& work,
                 const std::function<bool(std::size_t)>& done);

/// Queries every host with `ask(host, bounds)` and returns all results, in the order of the hosts.
/// `onResult(gathered, answered)` is called with each result on the calling thread; `answered` is
/// the number of results so far. An exception other than HostFailure becomes a failure of its host.
template <typename Value>
std::vector<Gathered<Value>>
gather(const std::vector<Host>& hosts, const GatheringOptions& options,
       const std::function<Value(const Host&, const SshBounds&)>& ask,
       const std::function<void(const Gathered<Value>&, std::size_t answered)>& onResult) {
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
            onResult(all[index], ++answered);
            return !(options.stopAtFailure && all[index].failure);
        });
    for (Gathered<Value>& one : all) {
        if (!one.value && !one.failure)
            one.failure.emplace(Trouble::Cancelled, "not asked");
    }
    return all;
}

} // namespace genv::remote
