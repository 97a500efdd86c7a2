// SPDX-License-Identifier: LGPL-2.1-or-later
// Measures how often each thread of the service wakes up without any requests: with regular cycles,
// and between cycles, where it should not wake up at all.
#include "bench/bus/figures.hpp"
#include "bench/bus/parts.hpp"
#include "bench/bus/threads.hpp"

#include <fmt/format.h>

#include <thread>

namespace genv::bench {

namespace {

using std::chrono::seconds;

constexpr unsigned quietEnvironments = 100;
// The time until the work caused by new environments is finished.
constexpr seconds untilQuiet{2};

void measure(const Plan& plan, const std::string& interval, seconds every, seconds window) {
    Scene scene(plan, plan.devices().front(), interval);
    scene.growTo(quietEnvironments);
    std::this_thread::sleep_for(untilQuiet);
    fmt::print(stderr, "bus_bench: idle for {} s\n", window.count());
    const ThreadUses before = threadsOf(scene.service.pid());
    const auto began = Clock::now();
    std::this_thread::sleep_for(window);
    const ThreadUses after = threadsOf(scene.service.pid());
    const double minutes = std::chrono::duration<double>(Clock::now() - began).count() / 60;
    const With with{{"environments", quietEnvironments},
                    {"devices", scene.devices()},
                    {"interval", static_cast<double>(every.count())}};
    double all = 0;
    for (const auto& [thread, use] : between(before, after)) {
        all += static_cast<double>(use.wakeUps);
        print({"wake-ups of " + use.name, with, "per minute",
               static_cast<double>(use.wakeUps) / minutes});
    }
    print({"wake-ups", with, "per minute", all / minutes});
}

} // namespace

void measureIdleness(const Plan& plan) {
    const seconds window{plan.quick ? 2 : 20};
    if (plan.quick)
        measure(plan, "1s", seconds{1}, window);
    else
        measure(plan, "10s", seconds{10}, window);
    measure(plan, seldom, std::chrono::hours{1}, window);
}

} // namespace genv::bench
