// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policy/question.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace genv::policy {

namespace {

// For a job, whose lifetime is all that Configure can change.
constexpr std::string_view extensionDeed = "extend the Slurm job of";

Action actionFor(Requirement requirement, core::Uid caller, const Target& target) {
    const bool own = target.owner == caller;
    switch (requirement) {
    case Requirement::GiveDevices:
        if (!own || target.parentOwner.value_or(caller) != caller)
            return Action::ManageOthers;
        if (!target.withoutConsent.holders.empty())
            return Action::OverSubscribeOthers;
        if (target.overSubscribes)
            return Action::OverSubscribe;
        return target.gpus ? Action::Attach : Action::Activate;
    case Requirement::ManageEnvironment:
        if (own)
            return target.extendsJob ? Action::ExtendJob : Action::ManageOwn;
        return Action::ManageOthers;
    case Requirement::TerminateProcess:
        return own ? Action::ManageOwn : Action::TerminateOthers;
    case Requirement::Enforce:
        return Action::Enforce;
    case Requirement::Configure:
        return Action::Configure;
    case Requirement::ReadHistory:
        return Action::ReadHistory;
    case Requirement::Free:
    case Requirement::ManageDevice:
        break;
    }
    return Action::ManageOthers;
}

std::string describeGpus(const std::vector<std::uint32_t>& indices) {
    return fmt::format("GPU{} {}", indices.size() == 1 ? "" : "s", fmt::join(indices, ", "));
}

std::string describeOwner(const Target& target) {
    return target.ownerName.empty() ? std::string() : fmt::format(" of {}", target.ownerName);
}

std::string describeEnvironment(const Target& target) {
    if (!target.environment)
        return {};
    return fmt::format("environment {}{}", *target.environment, describeOwner(target));
}

std::string describe(const Target& target) {
    if (target.pid)
        return fmt::format("process {}{}", *target.pid, describeOwner(target));
    std::string gpus = target.devices.empty() ? std::string() : describeGpus(target.devices);
    std::string environment = describeEnvironment(target);
    if (target.parent)
        environment +=
            fmt::format(" within environment {} of {}", *target.parent, target.parentOwnerName);
    if (!gpus.empty() && !environment.empty())
        return fmt::format("{} ({})", environment, gpus);
    if (!gpus.empty())
        return gpus;
    return environment.empty() ? "the GPU service" : environment;
}

std::string whoseHistory(const Target& target) {
    return target.owner ? target.ownerName : "every user";
}

std::vector<std::string> namesOf(const std::vector<DeviceHolder>& holders) {
    std::vector<std::string> names;
    for (const DeviceHolder& holder : holders)
        names.push_back(holder.name);
    return names;
}

Question questionAboutHolders(const Target& target, std::map<std::string, std::string> details) {
    const HeldDevices& held = target.withoutConsent;
    const auto names = namesOf(held.holders);
    return {Action::OverSubscribeOthers, std::move(details),
            fmt::format("share {} of {} with {}", describeGpus(held.indices),
                        fmt::join(names, ", "), describeEnvironment(target)),
            fmt::format("ask {} to run \"genvctl config --allow-over-subscribe\", or ask an "
                        "administrator",
                        fmt::join(names, " and "))};
}

std::map<std::string, std::string> detailsOf(const Target& target) {
    std::map<std::string, std::string> details;
    if (target.environment)
        details["environment"] = *target.environment;
    if (!target.ownerName.empty())
        details["owner"] = target.ownerName;
    if (target.owner)
        details["uid"] = std::to_string(*target.owner);
    if (target.parent)
        details["parent"] = *target.parent;
    if (target.parentOwner)
        details["parent-uid"] = std::to_string(*target.parentOwner);
    if (!target.devices.empty())
        details["devices"] = fmt::format("{}", fmt::join(target.devices, ","));
    if (target.gpus)
        details["gpus"] = std::to_string(*target.gpus);
    if (!target.withoutConsent.holders.empty()) {
        std::vector<core::Uid> uids;
        for (const DeviceHolder& holder : target.withoutConsent.holders)
            uids.push_back(holder.uid);
        details["holders"] =
            fmt::format("{}", fmt::join(namesOf(target.withoutConsent.holders), ","));
        details["holder-uids"] = fmt::format("{}", fmt::join(uids, ","));
    }
    if (target.pid)
        details["pid"] = std::to_string(*target.pid);
    return details;
}

} // namespace

std::optional<Question> questionFor(const MethodRow& method, core::Uid caller,
                                    const Target& target) {
    if (method.requirement == Requirement::Free || caller == 0)
        return std::nullopt;
    if (method.requirement == Requirement::Enforce && target.dryRun)
        return std::nullopt;
    if (method.requirement == Requirement::ReadHistory && target.owner == caller)
        return std::nullopt;
    const Action action = actionFor(method.requirement, caller, target);
    if (action == Action::OverSubscribeOthers)
        return questionAboutHolders(target, detailsOf(target));
    return Question{action, detailsOf(target),
                    fmt::format("{} {}", target.extendsJob ? extensionDeed : method.deed,
                                method.requirement == Requirement::ReadHistory
                                    ? whoseHistory(target)
                                    : describe(target))};
}

std::optional<Question> quotaQuestionFor(const MethodRow& method, core::Uid caller,
                                         const Target& target) {
    if (caller == 0)
        return std::nullopt;
    return Question{Action::ExceedLimits, detailsOf(target),
                    fmt::format("go over a limit to {} {}", method.deed, describe(target))};
}

} // namespace genv::policy
