// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/notify/group_descriptions.hpp"

#include "core/base/text.hpp"
#include "core/parking/parking_sentences.hpp"
#include "core/rules/rule_advice.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace genv::notify {

namespace {

using core::DeviceIndex;

// Root is not somebody to ask.
std::string askWhy(const Group& group) {
    return fmt::format("Ask {} why", group.actor == "root" ? "an administrator" : group.actor);
}

std::string adviceFor(const Group& group, const char* next) {
    if (group.reason == "admin")
        return fmt::format("{}; {}.", askWhy(group), next);
    if (group.isRule())
        return fmt::format("{}; {}.", core::adviceOnRule(group.rule()), next);
    return capitalised(next) + ".";
}

constexpr const char* parkingCategory = "x-genv.parking";

NotificationAction resuming(const Group& group) {
    return {NotificationAction::Kind::Resume, group.environment, {}, {}};
}

Part describeDetached(const Group& group) {
    const auto indices = group.indices();
    const bool isLost = group.reason == "device-lost";
    Part part{isLost ? Urgency::Critical : Urgency::Normal,
              isLost ? "device.error" : "device.removed",
              fmt::format("{} {} {}", core::nameGpus(indices), indices.size() == 1 ? "was" : "were",
                          isLost ? "lost" : "taken away"),
              core::describeChange(indices, false, group.reason, group.actor),
              adviceFor(group, "\"genv attach\" attaches another"),
              std::nullopt};
    if (!isLost) {
        part.action =
            NotificationAction{NotificationAction::Kind::AttachAgain, group.environment, {}, {}};
        for (const auto& [index, uuid] : group.devices)
            part.action->devices.push_back({index, uuid});
    }
    return part;
}

Part describeAttached(const Group& group) {
    const auto indices = group.indices();
    return {Urgency::Low,
            "device.added",
            fmt::format("{} {} attached", core::nameGpus(indices),
                        indices.size() == 1 ? "was" : "were"),
            core::describeChange(indices, true, group.reason.empty() ? "admin" : group.reason,
                                 group.actor),
            {},
            std::nullopt};
}

Part describeEnded(const Group& group) {
    return {Urgency::Critical,
            "x-genv.environment.ended",
            fmt::format("Environment {} was ended", nameEnvironment(group.last.notice)),
            core::describeEnd(group.reason, group.actor),
            adviceFor(group, "\"genv activate\" starts another"),
            std::nullopt};
}

Part describeTerminated(const Group& group) {
    return {Urgency::Critical,
            "x-genv.process.terminated",
            capitalised(fmt::format("{} {} ended", core::nameProcesses(group.processes),
                                    group.processes.size() == 1 ? "was" : "were")),
            core::describeTermination(group.processes, group.indices(), group.reason, group.actor),
            group.reason == "admin" ? askWhy(group) + "."
            : group.isRule()        ? fmt::format("{}.", core::adviceOnRule(group.rule()))
                                    : "",
            std::nullopt};
}

Part describeGranted(const Group& group) {
    const auto indices = group.indices();
    return {Urgency::Normal,
            "device.added",
            fmt::format("{} {} yours", core::nameGpus(indices), indices.size() == 1 ? "is" : "are"),
            core::describeGrant(indices,
                                std::chrono::seconds(Details(group.last.notice).number("waited"))),
            {},
            std::nullopt};
}

Part describeOccupied(const Group& group) {
    const auto indices = group.indices();
    const std::string gpus = core::nameGpus(indices);
    const auto pids = group.pids();
    const Details details(group.last.notice);
    if (pids.empty() && details.has("unaccounted-memory"))
        return {Urgency::Low,
                "device",
                fmt::format("{} {} in use", gpus, indices.size() == 1 ? "is" : "are"),
                fmt::format("{} on GPU {}",
                            core::describeUnaccounted({details.number("unaccounted-memory")}),
                            details.number("device")),
                {},
                std::nullopt};
    const std::string owner =
        pids.size() == 1 && details.has("owner")
            ? " of " + userName(static_cast<std::uint32_t>(details.number("owner")))
            : "";
    return {Urgency::Low,
            "device",
            fmt::format("{} {} in use", gpus, indices.size() == 1 ? "is" : "are"),
            pids.empty() ? fmt::format("a process of another user still runs on {}", gpus)
                         : fmt::format("{}{} still {} on {}", core::nameProcesses(pids), owner,
                                       pids.size() == 1 ? "runs" : "run", gpus),
            {},
            std::nullopt};
}

Part describeKeptParked(const Group& group) {
    const core::Bytes memory{Details(group.last.notice).number("memory")};
    return {Urgency::Normal,
            parkingCategory,
            fmt::format("Environment {} stays parked", nameEnvironment(group.last.notice)),
            fmt::format("its last shell is gone, and {} {} parked with {} of host memory",
                        core::nameProcesses(group.processes),
                        group.processes.size() == 1 ? "is" : "are", core::nameMemory(memory)),
            fmt::format("\"genvctl resume --id {}\" lets {} go on.",
                        core::escaped(group.environment),
                        group.processes.size() == 1 ? "it" : "them"),
            resuming(group)};
}

Part describeLingering(const Group& group) {
    if (Details(group.last.notice).has("memory"))
        return describeKeptParked(group);
    const auto indices = group.indices();
    const std::string gpus = core::nameGpus(indices);
    return {Urgency::Normal,
            "device",
            fmt::format("{} {} still in use", gpus, indices.size() == 1 ? "is" : "are"),
            core::describeLingering(indices, group.pids()),
            fmt::format("\"genvctl deactivate --id {} --kill\" ends them.",
                        core::escaped(group.environment)),
            std::nullopt};
}

Part describeExpiring(const Group& group) {
    return {
        Urgency::Normal,
        "x-genv.lease.ending",
        "A lease ends soon",
        core::describeLeaseEnding(group.indices(), group.end()),
        {},
        NotificationAction{NotificationAction::Kind::Extend, group.environment, group.end(), {}}};
}

Part describeWarned(const Group& group) {
    const Details details(group.last.notice);
    if (details.number("left") == 0) // the rule takes no action
        return {Urgency::Normal,
                "x-genv.rule.warning",
                fmt::format("The rule {} found a violation", core::escaped(details.text("rule"))),
                core::describeWarning(details.text("message"), details.text("rule"), std::nullopt),
                fmt::format("{}.", core::adviceOnRule(details.text("rule"))),
                std::nullopt};
    return {Urgency::Normal,
            "x-genv.rule.warning",
            fmt::format("The rule {} acts soon", core::escaped(details.text("rule"))),
            core::describeWarning(details.text("message"), details.text("rule"), group.end()),
            fmt::format("If the violation ends before, the rule does nothing. {}.",
                        core::adviceOnRule(details.text("rule"))),
            std::nullopt};
}

Part describeMemory(const Group& group) {
    const Details details(group.last.notice);
    const core::Bytes used{details.number("used")};
    const core::Bytes share{details.number("share")};
    return {Urgency::Normal,
            "x-genv.memory",
            used > share ? "GPU memory exceeds its share" : "GPU memory is nearly full",
            core::describeMemory(details.device().index, used, share),
            used > share ? "Use less memory: processes above the share may be ended."
                         : "Processes above the share may be ended.",
            std::nullopt};
}

Part describeHealth(const Group& group) {
    const Details details(group.last.notice);
    const DeviceIndex index = details.device().index;
    const std::string health = details.text("health");
    const bool isWell = health == "ok";
    const bool isOld = health == "stale";
    return {isWell || isOld ? Urgency::Low : Urgency::Critical,
            isWell ? "device" : "device.error",
            fmt::format("GPU {} {}", index, isWell ? "is healthy again" : "is unhealthy"),
            core::describeHealth(index, health),
            isWell || isOld ? "" : "Save your work; \"genv attach\" attaches another.",
            std::nullopt};
}

Part describeSharing(const Group& group) {
    const Details details(group.last.notice);
    const DeviceIndex index = details.device().index;
    return {Urgency::Low,
            "x-genv.device.shared",
            fmt::format("GPU {} is now shared", index),
            core::describeSharing(index, details.text("by"), group.actor),
            "Take turns with \"genv lock COMMAND\".",
            std::nullopt};
}

Part describeRefused(const Group& group) {
    const Details details(group.last.notice);
    const DeviceIndex index = details.device().index;
    return {Urgency::Normal,
            "device.error",
            fmt::format("You do not hold GPU {}", index),
            fmt::format("{}; {}", core::describeRefusedOpen(index, group.processes),
                        core::adviseOnRefusedOpen(index, details.has(heldByOthers))),
            {},
            std::nullopt};
}

core::ParkedWhy whyParked(const Group& group) {
    const Details details(group.last.notice);
    core::ParkedWhy why{group.reason, group.actor};
    if (details.has("taker"))
        why.taker = userName(static_cast<std::uint32_t>(details.number("taker")));
    if (details.has("expected"))
        why.expected = core::fromMicroseconds(details.number("expected"));
    return why;
}

// An environment that resumes by itself has no button: it is in the queue already.
Part describeParked(const Group& group) {
    const bool isAsked = group.reason == "user";
    const core::ParkedWhy why = whyParked(group);
    return {isAsked ? Urgency::Low : Urgency::Normal,
            parkingCategory,
            fmt::format("Environment {} is parked", nameEnvironment(group.last.notice)),
            core::describeParked(group.indices(),
                                 core::Bytes{Details(group.last.notice).number("memory")}, why),
            group.reason == "admin" ? askWhy(group) + "." : std::string(),
            why.resumesByItself() ? std::nullopt : std::optional(resuming(group))};
}

Part describeLoanEnding(const Group& group) {
    const Details details(group.last.notice);
    return {Urgency::Critical,
            "x-genv.environment.ending",
            fmt::format("Environment {} ends soon", nameEnvironment(group.last.notice)),
            core::describeLoanEnding(userName(static_cast<std::uint32_t>(details.number("taker"))),
                                     group.end()),
            "It is preemptible, and a request takes its GPUs.",
            std::nullopt};
}

Part describeResumed(const Group& group) {
    return {Urgency::Low,
            parkingCategory,
            fmt::format("Environment {} goes on", nameEnvironment(group.last.notice)),
            core::describeResumed(group.indices()),
            {},
            std::nullopt};
}

Part describeParkingFailed(const Group& group) {
    return {Urgency::Normal,
            parkingCategory,
            fmt::format("Environment {} was not parked", nameEnvironment(group.last.notice)),
            core::describeParkingFailed(Details(group.last.notice).text("message"), group.reason),
            {},
            std::nullopt};
}

Part describeResumeDelayed(const Group& group) {
    return {Urgency::Normal,
            parkingCategory,
            fmt::format("Environment {} cannot go on yet", nameEnvironment(group.last.notice)),
            core::describeResumeDelayed(Details(group.last.notice).text("message")),
            "It resumes by itself as soon as it can.",
            std::nullopt};
}

// Administrators are told of everybody's lost processes, so that the hint addresses no owner.
Part describeLost(const Group& group) {
    return {Urgency::Critical,
            "x-genv.process.lost",
            capitalised(fmt::format("{} {} lost", core::nameProcesses(group.processes),
                                    group.processes.size() == 1 ? "is" : "are")),
            core::describeLost(group.processes, Details(group.last.notice).text("message")),
            "This is a fault of the GPU driver. End the process, and start the program again.",
            std::nullopt};
}

Part describeParkedTooLong(const Group& group) {
    return {Urgency::Critical,
            "x-genv.environment.ending",
            fmt::format("Environment {} ends soon", nameEnvironment(group.last.notice)),
            core::describeParkedTooLong(group.environment, group.end()),
            {},
            resuming(group)};
}

struct Kind {
    std::string_view name;
    Part (*describe)(const Group&);
};

constexpr std::array kinds{
    Kind{"ended", &describeEnded},
    Kind{"detached", &describeDetached},
    Kind{"process-terminated", &describeTerminated},
    Kind{"attached", &describeAttached},
    Kind{"granted", &describeGranted},
    Kind{"device-occupied", &describeOccupied},
    Kind{"lingering", &describeLingering},
    Kind{"expiring", &describeExpiring},
    Kind{"device-health", &describeHealth},
    Kind{"warning", &describeWarned},
    Kind{"memory", &describeMemory},
    Kind{"over-subscribed", &describeSharing},
    Kind{"open-refused", &describeRefused},
    Kind{"parked", &describeParked},
    Kind{"resumed", &describeResumed},
    Kind{"parking-failed", &describeParkingFailed},
    Kind{"resume-delayed", &describeResumeDelayed},
    Kind{"process-lost", &describeLost},
    Kind{"parked-long", &describeParkedTooLong},
    Kind{"loan-ending", &describeLoanEnding},
};

const Kind* findKind(std::string_view name) {
    const auto* found = std::find_if(kinds.begin(), kinds.end(),
                                     [&](const Kind& each) { return each.name == name; });
    return found == kinds.end() ? nullptr : found;
}

} // namespace

bool isShown(std::string_view kind) {
    return findKind(kind) != nullptr;
}

Part describe(const Group& group) {
    return findKind(group.kind)->describe(group);
}

std::string nameEnvironment(const Notice& notice) {
    const std::string id = core::escaped(notice.environment);
    const auto name = notice.details.find("name");
    return name == notice.details.end() ? id
                                        : fmt::format("{} ({})", core::escaped(name->second), id);
}

std::string capitalised(std::string text) {
    if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
        text.front() = static_cast<char>(text.front() - 'a' + 'A');
    return text;
}

} // namespace genv::notify
