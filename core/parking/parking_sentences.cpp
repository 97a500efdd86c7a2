// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/parking/parking_sentences.hpp"

#include "core/base/duration.hpp"
#include "core/base/text.hpp"
#include "core/sentences/kept_sentence.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>

namespace genv::core {

namespace {

constexpr std::size_t maxVictims = 3;

// Returns `"training" of alice`, or "environment 12 of alice" without a name.
std::string nameVictims(const std::vector<TakenFrom>& victims) {
    if (victims.size() > maxVictims)
        return counted(victims.size(), "environment");
    std::vector<std::string> names;
    for (const TakenFrom& victim : victims)
        names.push_back(fmt::format("{} of {}",
                                    victim.name.empty()
                                        ? "environment " + escaped(victim.environment)
                                        : fmt::format("\"{}\"", escaped(victim.name)),
                                    victim.user));
    return fmt::format("{}", fmt::join(names, ", "));
}

} // namespace

std::string becauseParked(const ParkedWhy& why) {
    if (why.reason == "admin")
        return why.actor.empty() ? "by an administrator"
                                 : fmt::format("by an administrator ({})", why.actor);
    if (why.reason == "taken")
        return why.taker.empty() ? "for another request" : "for a request of " + why.taker;
    if (why.reason == "idle")
        return "because its GPUs were idle and a request waits for them";
    if (why.reason == "expired")
        return "because its lease ended";
    return "";
}

std::string describeComeback(const ParkedWhy& why) {
    if (!why.resumesByItself())
        return why.reason == "expired" ? "\"genv resume\" lets its programs go on with a new lease"
                                       : "\"genv resume\" lets its programs go on";
    return fmt::format("its programs go on by themselves when those GPUs are free again{}",
                       why.expected ? fmt::format(", expected about {}", nameTime(*why.expected))
                                    : std::string());
}

std::string describeParked(const std::vector<DeviceIndex>& devices, Bytes memory,
                           const ParkedWhy& why) {
    const std::string because = becauseParked(why);
    const std::string start = because.empty() ? "it was parked" : "it was parked " + because;
    if (why.resumesByItself())
        return fmt::format("{}: {} moved from {} to host memory; {}", start, nameMemory(memory),
                           nameGpus(devices), describeComeback(why));
    return fmt::format("{}: {} moved to host memory, and {} {} free; {}", start, nameMemory(memory),
                       nameGpus(devices), devices.size() == 1 ? "is" : "are",
                       describeComeback(why));
}

std::string describeLoanEnding(const std::string& taker, WallTime end) {
    return fmt::format("it cannot be parked for a request of {}, and ends at {}; save your work",
                       taker, nameTime(end));
}

std::string describeTaking(const std::vector<TakenFrom>& victims,
                           const std::vector<DeviceIndex>& devices,
                           std::chrono::seconds remaining) {
    Bytes bytes;
    for (const TakenFrom& victim : victims)
        bytes = bytes + victim.bytes;
    const std::string time = remaining.count() <= 0   ? "longer than expected"
                             : remaining.count() < 60 ? fmt::format("about {} s", remaining.count())
                                                      : "about " + formatDuration(remaining);
    // Before the next sample, the memory of a new program is not known.
    return fmt::format("parking {}{}: {}{}", nameVictims(victims),
                       devices.empty() ? "" : " for " + nameGpus(devices),
                       bytes == Bytes{0} ? "" : nameMemory(bytes) + ", ", time);
}

std::string describeTakingFailed(const std::vector<TakenFrom>& victims, std::string_view problem) {
    return fmt::format("{} could not be parked{}; the request waits on", nameVictims(victims),
                       problem.empty() ? "" : ": " + printable(problem));
}

std::string describeResumed(const std::vector<DeviceIndex>& devices) {
    return fmt::format("its programs go on on {}", nameGpus(devices));
}

std::string describeParkingFailed(std::string_view problem, std::string_view reason) {
    return fmt::format("it was not parked{}: {}",
                       reason == "taken" ? " for another request, which wants its GPUs" : "",
                       printable(problem));
}

std::string describeResumeDelayed(std::string_view problem) {
    return "its programs cannot go on yet: " + printable(problem);
}

std::string describeLost(const NamedProcesses& processes, std::string_view problem) {
    return fmt::format("{} {} lost and cannot go on: {}", nameProcesses(processes),
                       processes.size() == 1 ? "is" : "are", printable(problem));
}

std::string describeParkedTooLong(std::string_view environment, WallTime end) {
    return fmt::format("it was parked for the longest time that is allowed, and ends at {}; "
                       "\"genvctl resume --id {}\" lets its programs go on",
                       nameTime(end), escaped(environment));
}

std::string describeKeptParked(std::string_view environment, Bytes memory,
                               const NamedProcesses& processes) {
    const bool isOne = processes.size() == 1;
    return fmt::format("{}{} of host memory for {}, which {} parked; \"genvctl resume --id {}\" "
                       "lets {} go on",
                       keptFor, nameMemory(memory), nameProcesses(processes), isOne ? "is" : "are",
                       escaped(environment), isOne ? "it" : "them");
}

} // namespace genv::core
