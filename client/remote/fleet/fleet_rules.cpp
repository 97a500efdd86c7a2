// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/remote/fleet/fleet_rules.hpp"

#include "client/remote/fleet/host_situation.hpp"
#include "core/rules/action.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

namespace genv::remote {

namespace {

constexpr std::string_view maxHostsRule = "max-hosts-per-user";
constexpr std::string_view maxDevicesRule = "max-devices-per-user";

using HostSituations = std::vector<std::unique_ptr<HostSituation>>;

// A device that a user holds on a host, in one or more of the user's environments.
struct Held {
    std::size_t host = 0;
    core::DeviceUuid device;
    core::WallTime since; // when the user's first attachment of it began
    core::Uid uid = 0;    // the user's uid on that host
    std::vector<const core::EnvironmentRecord*> environments;
};

// Returns the devices that each user holds and that no rule has detached yet, by host and device.
// Root is exempt.
std::map<std::string, std::vector<Held>> heldByUser(const HostSituations& machines) {
    std::map<std::string, std::map<std::pair<std::size_t, core::DeviceUuid>, Held>> users;
    for (std::size_t host = 0; host < machines.size(); ++host) {
        for (const auto& [sequence, environment] : machines[host]->environments()) {
            for (const core::DeviceAttachment& attachment : environment.attachments) {
                const core::DeviceUuid& device = attachment.device.uuid;
                if (environment.uid == 0 || machines[host]->state().isDetached(environment, device))
                    continue;
                Held& held = users[environment.user][{host, device}];
                const bool isFirst = held.environments.empty();
                held = {host, device,
                        isFirst ? attachment.since : std::min(held.since, attachment.since),
                        environment.uid, std::move(held.environments)};
                held.environments.push_back(&environment);
            }
        }
    }
    std::map<std::string, std::vector<Held>> all;
    for (auto& [user, devices] : users) {
        for (auto& [key, held] : devices)
            all[user].push_back(std::move(held));
    }
    return all;
}

std::size_t countHosts(const std::vector<Held>& held) {
    std::set<std::size_t> hosts;
    for (const Held& one : held)
        hosts.insert(one.host);
    return hosts.size();
}

void takeAway(const HostSituations& machines, std::string_view rule,
              const std::vector<Held>& taken) {
    std::set<std::size_t> begun;
    // Groups by host, so that each host has one removal for all of its devices.
    for (const Held& first : taken) {
        if (!begun.insert(first.host).second)
            continue;
        HostSituation& machine = *machines[first.host];
        core::Consequences& consequences =
            machine.removals.emplace_back(Removal{std::string(rule), first.uid}).consequences;
        for (const Held& held : taken) {
            if (held.host != first.host)
                continue;
            for (const core::EnvironmentRecord* environment : held.environments)
                machine.state().detach(*environment, held.device, consequences);
        }
    }
}

FleetFinding fleetFinding(std::string_view rule, const std::string& user, std::string message) {
    EnforcementAction finding;
    finding.kind = nameOf(core::EnforcementEntry::Kind::Finding);
    finding.rule = rule;
    finding.message = std::move(message);
    finding.user = user;
    return {std::nullopt, std::move(finding)};
}

// The devices of a user on one host.
struct OnHost {
    std::vector<Held> held;
    core::WallTime since; // when the user's first attachment there began
};

void findMaxHosts(const HostSituations& machines, const UserLimits& limits,
                  std::vector<FleetFinding>& findings) {
    for (const auto& [user, all] : heldByUser(machines)) {
        const auto limit = limits.of(user);
        std::map<std::size_t, OnHost> byHost;
        for (const Held& held : all) {
            OnHost& there = byHost[held.host];
            there.since = there.held.empty() ? held.since : std::min(there.since, held.since);
            there.held.push_back(held);
        }
        if (!limit || byHost.size() <= *limit)
            continue;
        const std::size_t surplus = byHost.size() - *limit;
        findings.push_back(
            fleetFinding(maxHostsRule, user,
                         fmt::format("User {} is using {}, {} more than allowed", user,
                                     core::counted(byHost.size(), "host"), surplus)));
        std::vector<std::size_t> order;
        for (const auto& [host, there] : byHost)
            order.push_back(host);
        const auto goesBefore = [&](std::size_t a, std::size_t b) {
            const OnHost& one = byHost.at(a);
            const OnHost& other = byHost.at(b);
            return std::tuple(one.held.size(), other.since, b) <
                   std::tuple(other.held.size(), one.since, a);
        };
        std::sort(order.begin(), order.end(), goesBefore);
        for (std::size_t i = 0; i < surplus; ++i)
            takeAway(machines, maxHostsRule, byHost.at(order[i]).held);
    }
}

void findFleetMaxDevices(const HostSituations& machines, const UserLimits& limits,
                         std::vector<FleetFinding>& findings) {
    for (auto& [user, held] : heldByUser(machines)) {
        const auto limit = limits.of(user);
        if (!limit || held.size() <= *limit)
            continue;
        const std::size_t surplus = held.size() - *limit;
        findings.push_back(fleetFinding(
            maxDevicesRule, user,
            fmt::format("User {} is using {} devices on {} hosts which is {} more than the maximum "
                        "allowed",
                        user, held.size(), countHosts(held), surplus)));
        auto order = held;
        std::sort(order.begin(), order.end(), [](const Held& a, const Held& b) {
            return std::tie(a.since, a.host, a.device) > std::tie(b.since, b.host, b.device);
        });
        order.resize(surplus);
        takeAway(machines, maxDevicesRule, order);
    }
}

// Moves the findings of core's rules since the last call to `findings`.
void takeFindings(const HostSituations& machines, std::vector<FleetFinding>& findings) {
    for (std::size_t host = 0; host < machines.size(); ++host) {
        HostSituation& machine = *machines[host];
        for (core::Finding& found : std::exchange(machine.state().findings, {})) {
            FleetFinding finding = fleetFinding(nameOf(found.rule), machine.userName(found.user),
                                                std::move(found.message));
            finding.host = host;
            finding.finding.environment = std::move(found.environment);
            findings.push_back(std::move(finding));
            machine.removals.push_back(
                {std::string(nameOf(found.rule)), found.user, std::move(found.consequences)});
        }
    }
}

// Collects the content of a report.
class ReportWriter {
  public:
    void terminate(Json process) { processes_.push_back(std::move(process)); }
    void detach(core::DeviceIndex device, Json environment) {
        environments_[device].push_back(std::move(environment));
    }
    // A report for genv 1 contains only the two keys that it knows.
    [[nodiscard]] std::string text(bool forbidsSignals) const {
        if (processes_.empty() && environments_.empty())
            return {};
        Json::object_t detach;
        for (const auto& [device, environments] : environments_)
            detach.emplace_back(std::to_string(device), Json{{"envs", environments}});
        Json report{{"terminate", {{"processes", processes_}}}, {"detach", std::move(detach)}};
        if (forbidsSignals)
            report["terminate_processes"] = false;
        return writeJson(report);
    }

  private:
    Json processes_ = Json::array();
    std::map<core::DeviceIndex, Json> environments_; // by device
};

HostOrders ordersFor(const FleetHost& host, const HostSituation& machine, const FleetRules& rules) {
    const bool terminate = rules.terminate;
    const core::Mood mood = rules.isDryRun ? core::Mood::Would : core::Mood::Does;
    HostOrders orders;
    std::vector<EnforcementAction> detachments;
    ReportWriter report;
    std::map<core::Pid, const Snapshot::Process*> processes;
    for (const Snapshot::Process& process : host.snapshot.processes)
        processes.emplace(process.pid, &process);
    std::map<std::string_view, const Snapshot::Environment*> environments;
    for (const Snapshot::Environment& environment : host.snapshot.environments)
        environments.emplace(environment.id, &environment);
    for (const auto& [rule, user, consequences] : machine.removals) {
        for (const core::Ending& ending : consequences.endings) {
            if (!terminate)
                continue;
            const core::Pid pid = ending.process.identity.pid;
            const auto devices = machine.devices().indicesOf(ending.devices);
            orders.actions.push_back(
                {std::string(nameOf(core::EnforcementEntry::Kind::Terminate)), rule,
                 core::describeTerminating(mood, pid, ending.environment, devices),
                 machine.userName(user), pid, ending.environment, devices});
            report.terminate(processJson(*processes.at(pid)));
        }
        for (const core::Detachment& detachment : consequences.detachments) {
            const Snapshot::Environment* environment = environments.at(detachment.environment);
            const core::DeviceIndex index = machine.indexOf(detachment.device);
            detachments.push_back(
                {std::string(nameOf(core::EnforcementEntry::Kind::Detach)),
                 rule,
                 core::describeDetaching(mood, environment->id, environment->user, index),
                 environment->user,
                 std::nullopt,
                 environment->id,
                 {index}});
            report.detach(index, environmentJson(*environment));
        }
    }
    orders.actions.insert(orders.actions.end(), detachments.begin(), detachments.end());
    orders.report = report.text(!terminate && host.genv == Genv::Service);
    return orders;
}

// Evaluates the rules for a single machine, either before or after the rules over all hosts.
void findOn(HostSituation& machine, const core::RuleSwitches& switches, bool isBefore) {
    for (const auto& [rule, toggle] : core::switchedRules()) {
        if (switches.*toggle.member && (rule.rule < core::Rule::MaxDevicesPerUser) == isBefore)
            rule.find(machine.state(), {});
    }
}

// Returns a text that identifies a machine by its state. Empty if nothing is held on it.
std::string signatureOf(const Snapshot& snapshot) {
    std::string text;
    for (const Snapshot::Device& device : snapshot.devices) {
        for (const Snapshot::Attachment& attachment : device.attachments)
            text += fmt::format("{} {} {}\n", device.index, core::toMicroseconds(attachment.since),
                                attachment.environment);
    }
    if (text.empty())
        return text;
    for (const Snapshot::Environment& environment : snapshot.environments)
        text += writeJson(environmentJson(environment));
    return text;
}

} // namespace

std::optional<std::uint32_t> UserLimits::of(const std::string& user) const {
    const auto own = users.find(user);
    return own != users.end() ? std::optional(own->second) : everybody;
}

FleetDecision decide(const std::vector<FleetHost>& hosts, const FleetRules& rules) {
    HostSituations machines;
    for (const FleetHost& host : hosts) {
        HostSituation& machine = *machines.emplace_back(std::make_unique<HostSituation>(host));
        findOn(machine, rules.switches, true);
    }
    FleetDecision decision;
    takeFindings(machines, decision.findings);
    findMaxHosts(machines, rules.maxHosts, decision.findings);
    findFleetMaxDevices(machines, rules.maxDevices, decision.findings);
    for (const auto& machine : machines)
        findOn(*machine, rules.switches, false);
    takeFindings(machines, decision.findings);
    for (std::size_t host = 0; host < hosts.size(); ++host)
        decision.orders.push_back(ordersFor(hosts[host], *machines[host], rules));
    return decision;
}

std::vector<std::optional<std::size_t>> sameMachines(const std::vector<FleetHost>& hosts) {
    std::map<std::string, std::size_t> known;
    std::vector<std::optional<std::size_t>> same(hosts.size());
    for (std::size_t host = 0; host < hosts.size(); ++host) {
        const std::string signature = signatureOf(hosts[host].snapshot);
        if (signature.empty())
            continue;
        const auto [first, isNew] = known.emplace(signature, host);
        if (!isNew)
            same[host] = first->second;
    }
    return same;
}

} // namespace genv::remote
