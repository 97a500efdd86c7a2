// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/environment/lingering.hpp"

#include "client/descriptor_functions.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/found.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/parking/parking_sentences.hpp"
#include "genv/client.hpp"

#include <fmt/format.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <chrono>
#include <set>

namespace genv::ctl {

namespace {

// Much longer than the time between SIGTERM and SIGKILL in the default genvd.conf.
constexpr std::chrono::seconds endingDeadline{60};

// The interval for finding a worker process that has taken over.
constexpr long lookIntervalNanoseconds = 250'000'000;

// Waits for an event, at most this long.
void waitForEvent(Client& client, const client::Descriptor& timer, long nanoseconds) {
    const itimerspec once{{0, 0}, {0, nanoseconds}};
    timerfd_settime(timer.get(), 0, &once, nullptr);
    static_cast<void>(client.nextEvent(timer.get()));
}

std::optional<Environment> environmentIfAny(Client& client, const std::string& id) {
    return foundOrNothing([&] { return client.environment(id); });
}

bool usesOneOf(const ComputeProcess& process, const std::vector<std::uint32_t>& devices) {
    return std::any_of(process.uses.begin(), process.uses.end(), [&](const DeviceUse& use) {
        return std::find(devices.begin(), devices.end(), use.device) != devices.end();
    });
}

// Makes a call about a process or environment that may be gone. Returns whether it existed.
template <typename Call>
bool isThere(Context& context, Call call) {
    return foundOrNothing([&] {
               context.authorized(call);
               return true;
           })
        .value_or(false);
}

// Ends a process, or unregisters it if it no longer uses a GPU. Returns whether it was ended.
bool end(Context& context, const std::string& id, std::uint32_t pid) {
    if (isThere(context, [&](Client& client) { client.terminateProcess(pid); }))
        return true;
    isThere(context, [&](Client& client) { client.removeProcess(id, pid); });
    return false;
}

} // namespace

LingeringSentence describeLingering(const std::string& environment,
                                    const std::vector<std::uint32_t>& devices,
                                    const std::vector<std::uint32_t>& processes) {
    return {fmt::format("Environment {} keeps {}, which {} still {}", shown(environment),
                        core::nameGpus(devices), core::nameProcesses(processes),
                        processes.size() == 1 ? "uses" : "use"),
            fmt::format("End {} with \"genvctl deactivate --id {} --kill\".",
                        processes.size() == 1 ? "it" : "them", shown(environment))};
}

void warnOfLingering(Client& client, const std::string& id) {
    const std::optional<Environment> environment = environmentIfAny(client, id);
    if (!environment || !environment->lingering)
        return;
    // Processes that are parked are not known by their PIDs, and the devices are free.
    const ParkingState& parking = environment->parking;
    if (parking.state != "active") {
        warn(fmt::format("Environment {} stays {}: its programs keep {} of host memory", shown(id),
                         parking.state == "parked" ? "parked" : "alive",
                         core::nameMemory(core::Bytes{parking.memoryBytes})),
             fmt::format("\"genvctl resume --id {}\" lets them go on.", shown(id)));
        return;
    }
    const LingeringSentence sentence =
        describeLingering(id, environment->devices, environment->processes);
    warn(sentence.text, sentence.hint);
}

void warnOfLeaving(Client& client, const std::string& id, std::uint32_t leaving) {
    const std::optional<Environment> environment = environmentIfAny(client, id);
    if (!environment || environment->devices.empty() || !environment->kernels.empty())
        return;
    std::set<std::uint32_t> users;
    std::set<std::uint32_t> used;
    for (const ComputeProcess& process : client.processes()) {
        if (process.environment != id || process.pid == leaving ||
            !usesOneOf(process, environment->devices))
            continue;
        users.insert(process.pid);
        for (const DeviceUse& use : process.uses)
            used.insert(use.device);
    }
    const bool goesOn =
        std::any_of(environment->processes.begin(), environment->processes.end(),
                    [&](std::uint32_t pid) { return pid != leaving && !users.contains(pid); });
    if (users.empty() || goesOn)
        return;
    std::vector<std::uint32_t> kept;
    std::copy_if(environment->devices.begin(), environment->devices.end(), std::back_inserter(kept),
                 [&](std::uint32_t device) { return used.contains(device); });
    const LingeringSentence sentence = describeLingering(id, kept, {users.begin(), users.end()});
    warn(sentence.text, sentence.hint);
}

void endLingering(Context& context, const std::string& id) {
    Client& client = context.client();
    client.listenForEventsOnly();
    const client::Descriptor timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
    const auto deadline = std::chrono::steady_clock::now() + endingDeadline;
    std::set<std::uint32_t> tried;
    std::set<std::uint32_t> ended;
    while (const std::optional<Environment> environment = environmentIfAny(client, id)) {
        if (!environment->lingering && !environment->processes.empty())
            throw Failure(ExitStatus::Failed,
                          fmt::format("Environment {} goes on: other processes are registered with "
                                      "it ({})",
                                      shown(id), joined(environment->processes, ", ")),
                          fmt::format("End it for all of them with \"genvctl deactivate --id {} "
                                      "--kill\".",
                                      shown(id)));
        for (const std::uint32_t pid : environment->processes) {
            if (tried.insert(pid).second && end(context, id, pid))
                ended.insert(pid);
        }
        if (std::chrono::steady_clock::now() > deadline)
            throw Failure(ExitStatus::Failed,
                          fmt::format("Environment {} still lingers: {} has not ended", shown(id),
                                      core::nameProcesses(environment->processes)));
        waitForEvent(client, timer, lookIntervalNanoseconds);
    }
    if (!ended.empty())
        print(fmt::format("Ended {}\n",
                          core::nameProcesses(std::vector<core::Pid>(ended.begin(), ended.end()))));
}

} // namespace genv::ctl
