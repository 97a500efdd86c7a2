// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/rules/report.hpp"

#include "core/base/error.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/text.hpp"
#include "core/ledger/ledger.hpp"
#include "core/ledger/membership.hpp"
#include "core/rules/terminator.hpp"

#include <algorithm>
#include <charconv>
#include <set>

namespace genv::core {

namespace {

[[noreturn]] void refuse(const char* what) {
    fail(ErrorCode::InvalidArgs, "invalid report: {}", what);
}

EnforcementReport::Process parseProcess(const JsonValue& value) {
    EnforcementReport::Process process;
    process.pid = value["pid"].number32();
    if (const auto id = value.find("eid"); id && !id->isNull())
        process.environment = id->text();
    for (const JsonValue& use : value["used_gpu_memory"].list())
        process.devices.push_back(use["index"].number32());
    return process;
}

DeviceIndex parseIndex(const std::string& key) {
    DeviceIndex index = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    if (error != std::errc{} || end != key.data() + key.size())
        refuse("detach: expected device indices as keys");
    return index;
}

EnforcementReport parseDocument(const JsonValue& document) {
    EnforcementReport report;
    if (const auto terminate = document.find("terminate")) {
        for (const JsonValue& process : (*terminate)["processes"].list())
            report.terminate.push_back(parseProcess(process));
    }
    report.terminateProcesses = document.booleanIfAny("terminate_processes", true);
    if (const auto detach = document.find("detach")) {
        for (const auto& [key, value] : detach->object().items()) {
            const DeviceIndex index = parseIndex(key);
            for (const JsonValue& environment : JsonValue(value, "detach", true)["envs"].list())
                report.detach[index].push_back(environment["eid"].text());
        }
    }
    return report;
}

std::vector<DeviceUuid> devicesOf(const ObservedProcess& process) {
    std::vector<DeviceUuid> devices;
    for (const ComputeUse& use : process.uses)
        devices.push_back(use.device);
    return devices;
}

bool usesOneOf(const ObservedProcess& process, const std::vector<DeviceIndex>& indices,
               const LedgerView& ledger) {
    return std::any_of(process.uses.begin(), process.uses.end(), [&](const ComputeUse& use) {
        const TableDevice* device = ledger.devices().findUuid(use.device);
        return device != nullptr &&
               std::find(indices.begin(), indices.end(), device->facts.index) != indices.end();
    });
}

EnforcementEntry failed(std::string message) {
    EnforcementEntry action;
    action.kind = EnforcementEntry::Kind::Failed;
    action.message = std::move(message);
    return action;
}

// Matches a report entry by entry.
class Matching {
  public:
    Matching(const Observation& observation, const LedgerView& ledger,
             const std::function<bool(const ObservedProcess&)>& isProtected)
        : ledger_(ledger), lookup_(lookupIn(ledger)), isProtected_(isProtected) {
        for (const ObservedProcess& process : observation.processes)
            running_.emplace(process.facts.identity.pid, &process);
    }

    void matchProcess(const EnforcementReport::Process& wanted) {
        const auto found = running_.find(wanted.pid);
        const ObservedProcess* process = found != running_.end() ? found->second : nullptr;
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
        const TableDevice* device = ledger_.devices().find(index);
        const EnvironmentRecord* environment = ledger_.find(id);
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
    [[nodiscard]] bool isMeant(const ObservedProcess& process,
                               const EnforcementReport::Process& wanted) const {
        const EnvironmentRecord* environment = environmentOf(lookup_, process);
        const auto id = environment != nullptr ? std::optional(environment->id) : std::nullopt;
        return id == wanted.environment && usesOneOf(process, wanted.devices, ledger_) &&
               !process.isUnread;
    }

    void refuseJob(const EnvironmentRecord& environment, DeviceIndex index) {
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

    const LedgerView& ledger_;
    const EnvironmentLookup lookup_;
    const std::function<bool(const ObservedProcess&)>& isProtected_;
    std::map<Pid, const ObservedProcess*> running_;
    MatchedReport result_;
};

} // namespace

void requireReportLength(std::string_view text) {
    if (text.size() > maxReportSize)
        refuse("too long");
}

EnforcementReport parseReport(std::string_view text) {
    requireReportLength(text);
    try {
        const auto document = parseJson(text);
        return parseDocument(JsonValue(document));
    } catch (const JsonError& error) {
        refuse(error.what());
    }
}

MatchedReport matchReport(const EnforcementReport& report, const Observation& observation,
                          const LedgerView& ledger,
                          const std::function<bool(const ObservedProcess&)>& isProtected) {
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
