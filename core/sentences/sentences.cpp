// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/sentences/sentences.hpp"

#include "core/base/duration.hpp"
#include "core/base/text.hpp"
#include "core/base/time.hpp"
#include "core/sentences/granted_sentence.hpp"
#include "core/sentences/kept_sentence.hpp"
#include "core/sentences/refused_sentence.hpp"

#include <fmt/chrono.h>
#include <fmt/ranges.h>

#include <cstddef>

namespace genv::core {

namespace {

constexpr std::size_t maxMessageLength = 512;
// A line with more processes than this is too long to read.
constexpr std::size_t maxProcesses = 8;

/// The kind of object that a sentence is about.
enum class To { Device, Devices, Environment, Processes };

// Returns the reason as a clause.
std::string because(std::string_view reason, const std::string& actor, To what) {
    constexpr std::string_view rule = "rule:";
    if (reason == "admin")
        return fmt::format("by an administrator ({})", actor);
    if (reason.substr(0, rule.size()) == rule)
        return fmt::format("by the rule {}", escaped(reason.substr(rule.size())));
    if (reason == "expired")
        return what == To::Devices     ? "because their lease ended"
               : what == To::Processes ? "because the lease ended"
                                       : "because its lease ended";
    if (reason == "idle")
        return what == To::Processes ? "because the GPU was idle for too long"
                                     : "because it was idle for too long";
    if (reason == "preempted")
        return "for another request, since it could not be parked";
    if (reason == "job")
        return what == To::Environment ? "because Slurm ended the job" : "for a Slurm job";
    if (reason == "device-lost")
        return what == To::Devices ? "because the driver no longer has them"
                                   : "because the driver no longer has it";
    return fmt::format("({})", escaped(reason));
}

const char* was(std::size_t count) {
    return count == 1 ? "was" : "were";
}

To toDevices(const std::vector<DeviceIndex>& devices) {
    return devices.size() > 1 ? To::Devices : To::Device;
}

} // namespace

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
    if (count == 1)
        return fmt::format("1 {}", one);
    return many.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, many);
}

std::string nameGpus(const std::vector<DeviceIndex>& devices) {
    constexpr std::ptrdiff_t shortestRange = 3; // "0,1" is as short as "0-1"
    std::vector<std::string> parts;
    for (auto first = devices.begin(); first != devices.end();) {
        auto last = first;
        while (last + 1 != devices.end() && *(last + 1) == *last + 1)
            ++last;
        if (last - first + 1 < shortestRange)
            last = first;
        parts.push_back(first == last ? fmt::format("{}", *first)
                                      : fmt::format("{}-{}", *first, *last));
        first = last + 1;
    }
    return fmt::format("GPU{} {}", devices.size() == 1 ? "" : "s", fmt::join(parts, ","));
}

std::string nameMemory(Bytes amount) {
    constexpr std::uint64_t mebibyte = 1ULL << 20;
    constexpr std::uint64_t gibibyte = 1ULL << 30;
    constexpr std::uint64_t gigabyte = 1'000'000'000;
    if (amount.count >= gigabyte && amount.count % gigabyte == 0) // as it was typed
        return fmt::format("{} GB", amount.count / gigabyte);
    if (amount.count < mebibyte)
        return counted(amount.count, "byte");
    if (amount.count < gibibyte)
        return fmt::format("{} MiB", amount.count / mebibyte);
    const std::uint64_t tenths = (amount.count / mebibyte * 10 + 512) / 1024;
    return tenths % 10 == 0 ? fmt::format("{} GiB", tenths / 10)
                            : fmt::format("{}.{} GiB", tenths / 10, tenths % 10);
}

std::string nameTime(WallTime time) {
    return fmt::format("{:%a %Y-%m-%d %H:%M:%S}", localTime(time));
}

std::string nameProcesses(const NamedProcesses& processes) {
    std::vector<std::string> names;
    for (const auto& [pid, command] : processes) {
        if (names.size() == maxProcesses)
            break;
        names.push_back(command.empty() ? fmt::format("{}", pid)
                                        : fmt::format("{} ({})", pid, escaped(command)));
    }
    const std::size_t others = processes.size() - names.size();
    return fmt::format("process{} {}{}", processes.size() == 1 ? "" : "es", fmt::join(names, ", "),
                       others == 0 ? "" : fmt::format(" and {} more", others));
}

std::string nameProcesses(const std::vector<Pid>& pids) {
    NamedProcesses processes;
    for (const Pid pid : pids)
        processes.emplace(pid, "");
    return nameProcesses(processes);
}

std::string describeChange(const std::vector<DeviceIndex>& devices, bool attached,
                           std::string_view reason, const std::string& actor) {
    return fmt::format("{} {} {} {}", nameGpus(devices), was(devices.size()),
                       attached ? "attached" : "taken away",
                       because(reason, actor, toDevices(devices)));
}

std::string describeEnd(std::string_view reason, const std::string& actor) {
    return "the environment was ended " + because(reason, actor, To::Environment);
}

std::string describeGrant(const std::vector<DeviceIndex>& devices,
                          std::chrono::microseconds waited) {
    return fmt::format(
        "{} {}{}{} in the queue", nameGpus(devices), was(devices.size()), grantedAfter,
        formatDuration(std::chrono::duration_cast<std::chrono::milliseconds>(waited)));
}

std::string describeLeaseEnding(const std::vector<DeviceIndex>& devices, WallTime end) {
    const std::string what =
        devices.empty() ? "this environment" : "the lease of " + nameGpus(devices);
    return fmt::format("{} ends at {}; \"genv extend\" prolongs it", what, nameTime(end));
}

std::string describeTermination(const NamedProcesses& processes,
                                const std::vector<DeviceIndex>& devices, std::string_view reason,
                                const std::string& actor) {
    return fmt::format("{}{} {} ended {}", nameProcesses(processes),
                       devices.empty() ? "" : " on " + nameGpus(devices), was(processes.size()),
                       because(reason, actor, To::Processes));
}

std::string describeWarning(std::string_view message, std::string_view rule,
                            std::optional<WallTime> when) {
    if (!when)
        return fmt::format("{} (rule {})", escaped(message, maxMessageLength), escaped(rule));
    return fmt::format("{}; the rule {} acts at {}", escaped(message, maxMessageLength),
                       escaped(rule), nameTime(*when));
}

std::string describeHealth(DeviceIndex device, std::string_view health) {
    constexpr std::string_view xid = "xid-";
    if (health == "ok")
        return fmt::format("GPU {} is healthy again", device);
    if (health == "stale")
        return fmt::format("GPU {} may be unhealthy: the driver does not answer", device);
    if (health == "lost")
        return fmt::format("GPU {} is lost: the driver can no longer reach it", device);
    if (health.substr(0, xid.size()) == xid)
        return fmt::format("GPU {} is unhealthy: the driver reported XID {}", device,
                           escaped(health.substr(xid.size())));
    return fmt::format("GPU {} is unhealthy ({})", device, escaped(health));
}

std::string describeMemory(DeviceIndex device, Bytes used, Bytes share) {
    if (used > share)
        return fmt::format("{} of GPU {}'s memory is used, {} over the share of {}",
                           nameMemory(used), device, nameMemory(used - share), nameMemory(share));
    return fmt::format("{} of the share of {} of GPU {}'s memory is used", nameMemory(used),
                       nameMemory(share), device);
}

std::string describeUnaccounted(Bytes amount) {
    constexpr double gibibyte = 1024.0 * 1024 * 1024;
    constexpr double rounded = 9.95; // from here on, one digit after the point says nothing
    const double count = static_cast<double>(amount.count) / gibibyte;
    return fmt::format("{:.{}f} GiB in use by no process", count, count < rounded ? 1 : 0);
}

std::string describeLingering(const std::vector<DeviceIndex>& devices,
                              const std::vector<Pid>& pids) {
    return fmt::format("its last shell is gone, and {} still {} {}", nameProcesses(pids),
                       pids.size() == 1 ? "uses" : "use", nameGpus(devices));
}

std::string describeKept(std::string_view environment, const std::vector<DeviceIndex>& devices,
                         const std::vector<Pid>& pids) {
    return fmt::format("{}{}, which {} still {}; \"genvctl deactivate --id {} --kill\" ends {}",
                       keptFor, nameGpus(devices), nameProcesses(pids),
                       pids.size() == 1 ? "uses" : "use", escaped(environment),
                       pids.size() == 1 ? "it" : "them");
}

std::string describeRefusedOpen(DeviceIndex device, const NamedProcesses& processes) {
    const bool isKnown = !processes.empty() && processes.begin()->first != 0;
    return fmt::format("{} {} refused GPU {}{}",
                       isKnown ? nameProcesses(processes) : "one of your processes",
                       was(isKnown ? processes.size() : 1), device, notHeld);
}

std::string adviseOnRefusedOpen(DeviceIndex device, bool isHeldByOthers) {
    return isHeldByOthers
               ? fmt::format("others hold it: \"genv attach --index {} --wait\" waits for it",
                             device)
               : fmt::format("\"genv attach --index {}\" attaches it", device);
}

std::string describeSharing(DeviceIndex device, std::string_view environment,
                            const std::string& user) {
    return fmt::format("GPU {} is now shared with {} (environment {})", device, user,
                       escaped(environment));
}

} // namespace genv::core
