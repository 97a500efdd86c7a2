// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/rules/report.hpp"

#include "core/error.hpp"
#include "core/ledger.hpp"
#include "core/membership.hpp"
#include "core/terminator.hpp"
#include "core/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <set>

namespace genv::core {

namespace {

using nlohmann::json;

[[noreturn]] void refuse(const char* what) {
    fail(ErrorCode::InvalidArgs, "invalid report: {}", what);
}

std::uint32_t number(const json& object, const char* name) {
    if (!object.is_object() || !object.contains(name) || !object[name].is_number_unsigned() ||
        object[name].get<std::uint64_t>() > UINT32_MAX)
        refuse("an entry has no number where one is required");
    return object[name].get<std::uint32_t>();
}

EnvironmentId parseEnvironment(const json& value) {
    if (!value.is_object() || !value.contains("eid") || !value["eid"].is_string())
        refuse("an environment has no eid");
    return value["eid"].get<std::string>();
}

EnforcementReport::Process parseProcess(const json& value) {
    EnforcementReport::Process process;
    process.pid = number(value, "pid");
    if (value.contains("eid") && !value["eid"].is_null())
        process.environment = parseEnvironment(value);
    if (!value.contains("used_gpu_memory") || !value["used_gpu_memory"].is_array())
        refuse("a process has no used_gpu_memory");
    for (const json& use : value["used_gpu_memory"])
        process.devices.push_back(number(use, "index"));
    return process;
}

// Returns the list in a collection object, such as {"envs": [...]}.
const json& list(const json& collection, const char* name) {
    if (!collection.is_object() || !collection.contains(name) || !collection[name].is_array())
        refuse("a collection has no list");
    return collection[name];
}

std::vector<DeviceUuid> devicesOf(const ComputeProcess& process) {
    std::vector<DeviceUuid> devices;
    for (const ComputeUse& use : process.uses)
        devices.push_back(use.device);
    return devices;
}

bool usesOneOf(const ComputeProcess& process, const std::vector<DeviceIndex>& indices,
               const Ledger& ledger) {
    return std::any_of(process.uses.begin(), process.uses.end(), [&](const ComputeUse& use) {
        const Device* device = ledger.devices().findUuid(use.device);
        return device != nullptr &&
               std::find(indices.begin(), indices.end(), device->facts.index) != indices.end();
    });
}

EnforcementAction failed(std::string message) {
    EnforcementAction action;
    action.kind = EnforcementAction::Kind::Failed;
    action.message = std::move(message);
    return action;
}

// Matches a report entry by entry.
class Matching {
  public:
    Matching(const Observation& observation, const Ledger& ledger,
             const std::function<bool(const ComputeProcess&)>& isProtected)
        : ledger_(ledger), lookup_(lookupIn(ledger)), isProtected_(isProtected) {
        for (const ComputeProcess& process : observation.processes)
            running_.emplace(process.facts.identity.pid, &process);
    }

    void matchProcess(const EnforcementReport::Process& wanted) {
        const auto found = running_.find(wanted.pid);
        const ComputeProcess* process = found != running_.end() ? found->second : nullptr;
        if (process != nullptr && isProtected_(*process)) {
            refuseProcess(wanted.pid, TerminationOutcome::Protected);
        } else if (process == nullptr || !isMeant(*process, wanted)) {
            refuseProcess(wanted.pid, TerminationOutcome::Gone);
        } else {
            result_.consequences.endings.push_back(
                {process->facts, process->user(), devicesOf(*process), wanted.environment});
            running_.erase(found); // a process that is named twice is only matched once
        }
    }

    void matchAttachment(DeviceIndex index, const EnvironmentId& id) {
        const Device* device = ledger_.devices().find(index);
        const Environment* environment = ledger_.find(id);
        if (device != nullptr && environment != nullptr &&
            environment->attachmentTo(device->facts.uuid) != nullptr) {
            if (environment->job)
                refuseJob(*environment, index);
            else
                result_.consequences.detachments.push_back({id, device->facts.uuid});
            return;
        }
        result_.unmatched.push_back(failed(fmt::format(
            "[DEBUG] Environment {} already detached from device {}", escaped(id), index)));
        result_.unmatched.back().devices = {index};
    }

    [[nodiscard]] MatchedReport result() && { return std::move(result_); }

  private:
    // Returns whether a process is still where the report saw it.
    [[nodiscard]] bool isMeant(const ComputeProcess& process,
                               const EnforcementReport::Process& wanted) const {
        const Environment* environment = environmentOf(lookup_, process);
        const auto id = environment != nullptr ? std::optional(environment->id) : std::nullopt;
        return id == wanted.environment && usesOneOf(process, wanted.devices, ledger_) &&
               !process.isUnread;
    }

    void refuseJob(const Environment& environment, DeviceIndex index) {
        try {
            requireNoJob(environment);
        } catch (const Error& error) {
            result_.unmatched.push_back(failed(fmt::format("[ERROR] {}", error.what())));
            result_.unmatched.back().devices = {index};
        }
    }

    void refuseProcess(Pid pid, TerminationOutcome why) {
        result_.unmatched.push_back(failed(describe(why, pid)));
        result_.unmatched.back().pid = pid;
    }

    const Ledger& ledger_;
    const EnvironmentLookup lookup_;
    const std::function<bool(const ComputeProcess&)>& isProtected_;
    std::map<Pid, const ComputeProcess*> running_;
    MatchedReport result_;
};

} // namespace

void requireReportLength(std::string_view text) {
    if (text.size() > maxReportSize)
        refuse("too long");
}

EnforcementReport parseReport(std::string_view text) {
    requireReportLength(text);
    const json document = json::parse(text, nullptr, false);
    if (!document.is_object())
        refuse("not a JSON object");
    EnforcementReport report;
    if (document.contains("terminate")) {
        for (const json& process : list(document["terminate"], "processes"))
            report.terminate.push_back(parseProcess(process));
    }
    if (document.contains("terminate_processes")) {
        if (!document["terminate_processes"].is_boolean())
            refuse("terminate_processes: expected true or false");
        report.terminateProcesses = document["terminate_processes"].get<bool>();
    }
    if (!document.contains("detach"))
        return report;
    if (!document["detach"].is_object())
        refuse("detach: expected an object whose keys are device indices");
    for (const auto& [key, value] : document["detach"].items()) {
        DeviceIndex index = 0;
        const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
        if (error != std::errc{} || end != key.data() + key.size())
            refuse("detach: expected device indices as keys");
        for (const json& environment : list(value, "envs"))
            report.detach[index].push_back(parseEnvironment(environment));
    }
    return report;
}

MatchedReport matchReport(const EnforcementReport& report, const Observation& observation,
                          const Ledger& ledger,
                          const std::function<bool(const ComputeProcess&)>& isProtected) {
    Matching matching(observation, ledger, isProtected);
    for (const EnforcementReport::Process& wanted : report.terminate)
        matching.matchProcess(wanted);
    for (const auto& [index, named] : report.detach) {
        for (const EnvironmentId& id : std::set(named.begin(), named.end()))
            matching.matchAttachment(index, id);
    }
    return std::move(matching).result();
}

} // namespace genv::core
