// SPDX-License-Identifier: LGPL-2.1-or-later
// Measures how long the devices of an environment stay attached after its last process has exited.
// No process uses them, so this is the time for a sample of the driver, which must confirm that,
// and for ending the environment.
#include "bench/bus/figures.hpp"
#include "bench/bus/parts.hpp"
#include "tests/bus/support/processes.hpp"

#include <signal.h>

#include <algorithm>
#include <stdexcept>

namespace genv::bench {

namespace {

constexpr unsigned deviceCount = 8;
constexpr unsigned maxEnds = 50;

// Returns the time from the signal that kills the process to the signal that the environment has
// ended.
std::chrono::nanoseconds endOne(Scene& scene) {
    tests::UserProcess process(tests::root);
    const tests::Answer answer =
        scene.root().manager("Activate", "a{sv}", 2, "pid", "u", process.pid(), "gpus", "u", 1U);
    if (!answer.ok())
        throw std::runtime_error("Activate: " + answer.text);
    bool isGone = false;
    const tests::Slot slot = scene.root().listen("type='signal',interface='dev.genv.Manager',"
                                                 "member='EnvironmentRemoved'",
                                                 [&](sd_bus_message*) { isGone = true; });
    const auto began = Clock::now();
    process.kill(SIGKILL);
    process.wait();
    scene.root().processUntil([&] { return isGone; }, "the environment to end");
    return Clock::now() - began;
}

} // namespace

void measureEndings(const Plan& plan) {
    Scene scene(plan, deviceCount);
    scene.start();
    Series times;
    for (unsigned i = 0; i < std::min(plan.calls, maxEnds); ++i)
        times.add(endOne(scene));
    constexpr double microsecondsPerMillisecond = 1000;
    print({"devices free after an exit",
           {{"devices", scene.devices()}},
           "ms",
           times.median() / microsecondsPerMillisecond});
}

} // namespace genv::bench
