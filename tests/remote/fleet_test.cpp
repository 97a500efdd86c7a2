// SPDX-License-Identifier: LGPL-2.1-or-later
// The decisions of rules over many hosts, based only on their snapshots.
#include "client/remote/fleet/fleet_host.hpp"
#include "core/rules/report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace genv::remote {
namespace {

using Texts = std::vector<std::string>;

core::Bytes mebibytes(std::uint64_t count) {
    return {count << 20};
}

core::WallTime at(int seconds) {
    return core::WallTime{std::chrono::seconds{1'000'000 + seconds}};
}

/// A host that is described step by step.
struct HostMaker {
    FleetHost host;

    explicit HostMaker(core::DeviceIndex devices, Genv genv = Genv::Service) {
        host.genv = genv;
        for (core::DeviceIndex index = 0; index < devices; ++index)
            host.snapshot.devices.push_back({index, mebibytes(16'384), {}});
    }

    HostMaker& environment(const std::string& id, const std::string& user, core::Uid uid = 1001) {
        Snapshot::Environment environment;
        environment.id = id;
        environment.uid = uid;
        environment.user = user;
        environment.createdText = "02/03/2024 05:06:07";
        environment.processes = {50};
        host.snapshot.environments.push_back(std::move(environment));
        return *this;
    }
    HostMaker& attached(const std::string& id, core::DeviceIndex device, int seconds,
                        std::optional<core::Bytes> share = std::nullopt) {
        host.snapshot.devices.at(device).attachments.push_back({id, share, at(seconds)});
        return *this;
    }
    /// Adds a process in an environment, or outside with a uid if that is known.
    HostMaker& process(core::Pid pid, const std::vector<core::DeviceIndex>& devices,
                       const std::string& environment, std::optional<core::Uid> uid = std::nullopt,
                       core::Bytes memory = mebibytes(42)) {
        Snapshot::Process process;
        process.pid = pid;
        if (!environment.empty())
            process.environment = environment;
        process.uid = uid;
        for (const core::DeviceIndex device : devices)
            process.uses.push_back({device, memory});
        host.snapshot.processes.push_back(std::move(process));
        return *this;
    }
};

struct Decided {
    std::vector<FleetHost> hosts;
    FleetDecision decision;

    /// Returns each finding, prefixed with the number of its host, such as "0: ".
    Texts findings() const {
        Texts texts;
        for (const FleetFinding& one : decision.findings)
            texts.push_back((one.host ? fmt::format("{}: ", *one.host) : "") + one.finding.message);
        return texts;
    }
    /// Returns the actions on each host.
    Texts actions() const {
        Texts texts;
        for (std::size_t host = 0; host < decision.orders.size(); ++host) {
            for (const EnforcementAction& action : decision.orders[host].actions)
                texts.push_back(fmt::format("{}: {}", host, action.message));
        }
        return texts;
    }
    /// Returns the detachments, as "host/environment/device".
    Texts detached() const {
        Texts texts;
        for (std::size_t host = 0; host < decision.orders.size(); ++host) {
            for (const EnforcementAction& action : decision.orders[host].actions) {
                if (action.kind == "detach")
                    texts.push_back(fmt::format("{}/{}/{}", host, action.environment.value_or(""),
                                                action.devices.at(0)));
            }
        }
        return texts;
    }
    std::string report(std::size_t host = 0) const { return decision.orders.at(host).report; }
};

Decided decided(const std::vector<HostMaker>& makers, const FleetRules& rules = {}) {
    Decided result;
    for (const HostMaker& maker : makers)
        result.hosts.push_back(maker.host);
    result.decision = decide(result.hosts, rules);
    return result;
}

FleetRules limitDevices(std::uint32_t everybody) {
    FleetRules rules;
    rules.maxDevices.everybody = everybody;
    return rules;
}

FleetRules limitHosts(std::uint32_t everybody) {
    FleetRules rules;
    rules.maxHosts.everybody = everybody;
    return rules;
}

/// Returns hosts on which alice has these numbers of devices. Each attachment is a second later
/// than the previous one, host by host.
std::vector<HostMaker> aliceWith(const std::vector<core::DeviceIndex>& counts) {
    std::vector<HostMaker> hosts;
    int time = 0;
    for (const core::DeviceIndex count : counts) {
        HostMaker host(count);
        host.environment("7", "alice");
        for (core::DeviceIndex device = 0; device < count; ++device)
            host.attached("7", device, ++time);
        hosts.push_back(host);
    }
    return hosts;
}

TEST(FleetRules, FindNothingWhereAllIsWell) {
    const auto all =
        decided({HostMaker(2).environment("7", "alice").attached("7", 0, 1).process(70, {0}, "7"),
                 HostMaker(0)});
    EXPECT_EQ(all.findings(), Texts{});
    EXPECT_EQ(all.report(0), "");
    EXPECT_EQ(all.report(1), "");
    EXPECT_EQ(decided({}).decision.orders.size(), 0U);
}

TEST(FleetRules, JudgeProcessesOnEachHostAsTheServiceDoes) {
    const HostMaker host = HostMaker(3)
                               .environment("7", "alice")
                               .attached("7", 0, 1)
                               .process(70, {0, 1, 2}, "7")
                               .process(71, {1}, "", 1002);
    FleetRules rules;
    rules.switches.nonEnvProcesses = true;
    const auto all = decided({HostMaker(1), host}, rules);
    EXPECT_EQ(all.findings(),
              (Texts{"1: Process 71 is not running in a GPU environment",
                     "1: Process 70 from environment 7 is using non-attached GPU(s) 1,2"}));
    EXPECT_EQ(
        all.actions(),
        (Texts{"1: Terminating process 71 from environment N/A that is running on GPU(s) 1",
               "1: Terminating process 70 from environment 7 that is running on GPU(s) 0,1,2"}));
    EXPECT_EQ(all.report(0), "");
    EXPECT_EQ(all.decision.findings[0].finding.user, "1002");
    EXPECT_EQ(all.decision.findings[1].finding.user, "alice");
    EXPECT_EQ(all.decision.findings[1].finding.rule, "env-devices");
    EXPECT_EQ(all.decision.findings[1].finding.environment, "7");

    rules.switches.nonEnvProcesses = rules.switches.envDevices = false;
    EXPECT_EQ(decided({host}, rules).findings(), Texts{});
}

TEST(FleetRules, EndTheFewestProcessesOverAShare) {
    const auto all = decided({HostMaker(1)
                                  .environment("7", "alice")
                                  .attached("7", 0, 1, mebibytes(100))
                                  .process(70, {0}, "7", std::nullopt, mebibytes(60))
                                  .process(71, {0}, "7", std::nullopt, mebibytes(70))});
    EXPECT_EQ(all.findings(), Texts{"0: Environment 7 is using 130mi on device 0 which is 30mi "
                                    "over its capacity of 100mi"});
    EXPECT_EQ(all.actions(),
              Texts{"0: Terminating process 70 from environment 7 that is running on GPU(s) 0"});
}

TEST(FleetRules, SpareRootOutsideEnvironmentsAndWhoIsNotKnownOnAService) {
    FleetRules rules;
    rules.switches.nonEnvProcesses = true;
    const auto hostOf = [](Genv genv) {
        return HostMaker(1, genv).process(70, {0}, "", 0).process(71, {0}, "").process(1, {0}, "");
    };
    EXPECT_EQ(decided({hostOf(Genv::Service)}, rules).findings(), Texts{});
    // The old genv does not report the user of a process.
    EXPECT_EQ(decided({hostOf(Genv::Old)}, rules).findings(),
              (Texts{"0: Process 70 is not running in a GPU environment",
                     "0: Process 71 is not running in a GPU environment"}));
}

TEST(FleetRules, KnowTheProcessesOfEnvironmentsThatHaveEnded) {
    FleetRules rules;
    rules.switches.nonEnvProcesses = true;
    const auto all = decided({HostMaker(1, Genv::Old).process(70, {0}, "gone")}, rules);
    EXPECT_EQ(all.findings(),
              Texts{"0: Process 70 from environment gone is using non-attached GPU(s) 0"});
    EXPECT_EQ(all.decision.findings[0].finding.user, "");
}

TEST(FleetRules, CountDevicesOverAllHostsAndTakeTheNewest) {
    const auto hosts = aliceWith({2, 1, 2});
    EXPECT_EQ(decided(hosts, limitDevices(5)).findings(), Texts{});
    const auto all = decided(hosts, limitDevices(2));
    EXPECT_EQ(all.findings(), Texts{"User alice is using 5 devices on 3 hosts which is 3 more than "
                                    "the maximum allowed"});
    EXPECT_EQ(all.detached(), (Texts{"1/7/0", "2/7/1", "2/7/0"}));
    EXPECT_EQ(all.decision.findings[0].finding.user, "alice");
    EXPECT_EQ(all.decision.findings[0].finding.rule, "max-devices-per-user");
    EXPECT_EQ(all.decision.orders[1].actions[0].rule, "max-devices-per-user");
    EXPECT_EQ(all.report(0), "");
}

TEST(FleetRules, TakeTheNewestWhereverItIs) {
    const std::vector<HostMaker> hosts{
        HostMaker(2).environment("7", "alice").attached("7", 0, 9).attached("7", 1, 2),
        HostMaker(2).environment("7", "alice").attached("7", 0, 3).attached("7", 1, 8)};
    EXPECT_EQ(decided(hosts, limitDevices(3)).detached(), Texts{"0/7/0"});
    EXPECT_EQ(decided(hosts, limitDevices(2)).detached(), (Texts{"0/7/0", "1/7/1"}));
    EXPECT_EQ(decided(hosts, limitDevices(1)).detached(), (Texts{"0/7/0", "1/7/1", "1/7/0"}));
}

TEST(FleetRules, ReckonFromWhenTheUserFirstGotADevice) {
    const std::vector<HostMaker> hosts{HostMaker(2)
                                           .environment("7", "alice")
                                           .environment("8", "alice")
                                           .attached("7", 0, 3)
                                           .attached("8", 0, 9)
                                           .attached("8", 1, 5)};
    EXPECT_EQ(decided(hosts, limitDevices(1)).detached(), Texts{"0/8/1"});
}

TEST(FleetRules, TakeTheLaterOfEquals) {
    std::vector<HostMaker> hosts;
    for (int host = 0; host < 3; ++host)
        hosts.push_back(
            HostMaker(2).environment("7", "alice").attached("7", 0, 5).attached("7", 1, 5));
    EXPECT_EQ(decided(hosts, limitDevices(3)).detached(), (Texts{"1/7/1", "2/7/1", "2/7/0"}));
}

TEST(FleetRules, CountADeviceOnceAndTakeItFromAllEnvironmentsOfTheUser) {
    // The same with over-subscription: bob keeps the device that he shares with alice, who got
    // device 1 first, at 2.
    const std::vector<HostMaker> hosts{HostMaker(2)
                                           .environment("7", "alice")
                                           .environment("8", "alice")
                                           .environment("9", "bob", 1002)
                                           .attached("7", 0, 3)
                                           .attached("9", 0, 1)
                                           .attached("8", 0, 9)
                                           .attached("8", 1, 2)
                                           .process(70, {0}, "7")
                                           .process(90, {0}, "9")};
    EXPECT_EQ(decided(hosts, limitDevices(2)).findings(), Texts{});
    const auto all = decided(hosts, limitDevices(1));
    EXPECT_EQ(all.findings(), Texts{"User alice is using 2 devices on 1 hosts which is 1 more than "
                                    "the maximum allowed"});
    EXPECT_EQ(all.actions(),
              (Texts{"0: Terminating process 70 from environment 7 that is running on GPU(s) 0",
                     "0: Detaching environment 7 of user alice from device 0",
                     "0: Detaching environment 8 of user alice from device 0"}));
}

TEST(FleetRules, KnowUsersByNameAndSpareRoot) {
    // alice has a different uid on each host, where another user has her uid.
    const std::vector<HostMaker> hosts{
        HostMaker(1).environment("7", "alice", 1001).attached("7", 0, 1),
        HostMaker(2)
            .environment("7", "alice", 2002)
            .environment("8", "bob", 1001)
            .attached("7", 0, 2)
            .attached("8", 1, 3),
        HostMaker(2).environment("7", "root", 0).attached("7", 0, 1).attached("7", 1, 2)};
    EXPECT_EQ(decided(hosts, limitDevices(1)).detached(), Texts{"1/7/0"});
    EXPECT_EQ(decided(hosts, limitHosts(1)).detached(), Texts{"1/7/0"});
}

TEST(FleetRules, HaveOtherNumbersForSomeUsers) {
    const std::vector<HostMaker> hosts{HostMaker(4)
                                           .environment("7", "alice", 1001)
                                           .environment("8", "bob", 1002)
                                           .attached("7", 0, 1)
                                           .attached("7", 1, 2)
                                           .attached("8", 2, 3)
                                           .attached("8", 3, 4)};
    FleetRules rules;
    rules.maxDevices.users = {{"alice", 1}};
    EXPECT_EQ(decided(hosts, rules).detached(), Texts{"0/7/1"});
    rules.maxDevices.everybody = 0;
    rules.maxDevices.users = {{"alice", 2}};
    EXPECT_EQ(decided(hosts, rules).detached(), (Texts{"0/8/3", "0/8/2"}));
}

TEST(FleetRules, CountHostsAndLeaveThoseWithTheFewestDevices) {
    const auto hosts = aliceWith({1, 3, 2});
    EXPECT_EQ(decided(hosts, limitHosts(3)).findings(), Texts{});
    const auto all = decided(hosts, limitHosts(2));
    EXPECT_EQ(all.findings(), Texts{"User alice is using 3 hosts, 1 more than allowed"});
    EXPECT_EQ(all.decision.findings[0].finding.rule, "max-hosts-per-user");
    EXPECT_EQ(all.detached(), Texts{"0/7/0"});
    EXPECT_EQ(all.decision.orders[0].actions[0].rule, "max-hosts-per-user");
    EXPECT_EQ(decided(hosts, limitHosts(1)).detached(), (Texts{"0/7/0", "2/7/0", "2/7/1"}));
    EXPECT_EQ(decided(hosts, limitHosts(0)).detached().size(), 6U);
}

TEST(FleetRules, LeaveTheHostToWhichTheUserCameLastAmongEquals) {
    const std::vector<HostMaker> hosts{HostMaker(1).environment("7", "alice").attached("7", 0, 9),
                                       HostMaker(1).environment("7", "alice").attached("7", 0, 5),
                                       HostMaker(1).environment("7", "alice").attached("7", 0, 9),
                                       HostMaker(1).environment("7", "alice")}; // holds nothing
    EXPECT_EQ(decided(hosts, limitHosts(2)).detached(), Texts{"2/7/0"});
    EXPECT_EQ(decided(hosts, limitHosts(1)).detached(), (Texts{"0/7/0", "2/7/0"}));
}

TEST(FleetRules, DoNotCountAgainWhatIsTakenAwayAlready) {
    auto rules = limitHosts(2);
    rules.maxDevices.everybody = 4;
    const auto all = decided(aliceWith({2, 2, 1}), rules);
    EXPECT_EQ(all.findings(), Texts{"User alice is using 3 hosts, 1 more than allowed"});
    EXPECT_EQ(all.detached(), Texts{"2/7/0"});
}

TEST(FleetRules, WriteAReportThatTheServiceUnderstands) {
    const auto all = decided({HostMaker(12)
                                  .environment("7", "alice")
                                  .environment("8", "alice")
                                  .attached("7", 11, 1)
                                  .attached("8", 2, 2)
                                  .attached("8", 11, 3)
                                  .process(70, {11, 3}, "7")},
                             limitDevices(0));
    const core::EnforcementReport report = core::parseReport(all.report());
    ASSERT_EQ(report.terminate.size(), 1U);
    EXPECT_EQ(report.terminate[0].pid, 70U);
    EXPECT_EQ(report.terminate[0].environment, "7");
    EXPECT_EQ(report.terminate[0].devices, (std::vector<core::DeviceIndex>{11, 3}));
    EXPECT_EQ(report.detach, (std::map<core::DeviceIndex, std::vector<core::EnvironmentId>>{
                                 {2, {"8"}}, {11, {"7", "8"}}}));
    EXPECT_TRUE(report.terminateProcesses);
    EXPECT_LT(all.report().find(R"("2":{"envs":[)"), all.report().find(R"("11":{"envs":[)"));
}

TEST(FleetRules, WriteAReportWithWholeEntitiesAndNoKeysThatTheOldGenvDoesNotKnow) {
    FleetRules rules = limitDevices(0);
    for (const bool terminate : {true, false}) {
        rules.terminate = terminate;
        const auto all = decided({HostMaker(1, Genv::Old)
                                      .environment("7", "alice")
                                      .attached("7", 0, 1)
                                      .process(70, {0}, "7")},
                                 rules);
        const std::string process =
            R"({"pid":70,"used_gpu_memory":[{"index":0,"gpu_memory":"42mi"}],"eid":"7"})";
        EXPECT_EQ(
            all.report(),
            fmt::format(
                R"({{"terminate":{{"processes":[{}]}},"detach":{{"0":{{"envs":[{{"eid":"7",)"
                R"("uid":1001,"creation":"02/03/2024 05:06:07","username":"alice","config":)"
                R"({{"name":null,"gpu_memory":null,"gpus":null}},"pids":[50],"kernel_ids":[]}}]}}}}}})",
                terminate ? process : ""));
    }
}

TEST(FleetRules, SignalNothingWhereThatIsNotWanted) {
    FleetRules rules = limitDevices(0);
    rules.terminate = false;
    const std::vector<HostMaker> hosts{
        HostMaker(1).environment("7", "alice").attached("7", 0, 1).process(70, {0}, "7"),
        HostMaker(1).environment("9", "bob").process(90, {0}, "9")};
    const auto all = decided(hosts, rules);
    EXPECT_EQ(all.actions(), Texts{"0: Detaching environment 7 of user alice from device 0"});
    EXPECT_EQ(all.report(0),
              R"({"terminate":{"processes":[]},"detach":{"0":{"envs":[{"eid":"7","uid":1001,)"
              R"("creation":"02/03/2024 05:06:07","username":"alice","config":{"name":null,)"
              R"("gpu_memory":null,"gpus":null},"pids":[50],"kernel_ids":[]}]}},)"
              R"("terminate_processes":false})");
    EXPECT_FALSE(core::parseReport(all.report(0)).terminateProcesses);
    EXPECT_EQ(all.findings().front(),
              "1: Process 90 from environment 9 is using non-attached GPU(s) 0");
    EXPECT_EQ(all.report(1), "");
}

TEST(FleetRules, StandAgainstSnapshotsThatContradictThemselves) {
    FleetRules rules = limitDevices(0);
    rules.switches.nonEnvProcesses = true;
    rules.maxHosts.everybody = 0;
    const auto all = decided({HostMaker(1, Genv::Old)
                                  .attached("nobody's", 0, 1)
                                  .environment("a\x1b[2J", "al\nice")
                                  .attached("a\x1b[2J", 0, -2'000'000)
                                  .process(70, {65'535}, "a\x1b[2J", std::nullopt, {~0ULL})
                                  .process(71, {}, "")
                                  .process(72, {}, "nobody's")},
                             rules);
    EXPECT_EQ(all.detached(), Texts{"0/a\x1b[2J/0"});
    EXPECT_EQ(all.findings().front(),
              "0: Process 70 from environment a\x1b[2J is using non-attached GPU(s) 65535");
    EXPECT_NO_THROW(core::parseReport(all.report()));
}

TEST(FleetRules, SeeAMachineThatWasNamedTwice) {
    const auto hosts = aliceWith({2, 1});
    const std::vector<FleetHost> twice{hosts[0].host, hosts[1].host, hosts[0].host,
                                       HostMaker(1).host, HostMaker(1).host};
    EXPECT_EQ(sameMachines(twice), (std::vector<std::optional<std::size_t>>{
                                       std::nullopt, std::nullopt, 0, std::nullopt, std::nullopt}));
    FleetHost other = hosts[0].host;
    other.snapshot.environments[0].processes = {51};
    EXPECT_EQ(sameMachines({hosts[0].host, other}).at(1), std::nullopt);
    other = hosts[0].host;
    other.snapshot.devices[0].attachments[0].since += std::chrono::microseconds{1};
    EXPECT_EQ(sameMachines({hosts[0].host, other}).at(1), std::nullopt);
}

TEST(OldGenv, DidWhatItWasToldButForWhatItComplainsOf) {
    const auto all = decided({HostMaker(2, Genv::Old)
                                  .environment("7", "alice")
                                  .attached("7", 0, 1)
                                  .process(70, {0}, "7")
                                  .process(71, {0}, "7")},
                             limitDevices(0));
    const HostOrders& orders = all.decision.orders[0];
    const auto messages = [&](std::string_view printed) {
        Texts texts;
        for (const EnforcementAction& action : outcomeOf(orders, printed))
            texts.push_back(action.kind + " " + action.message);
        return texts;
    };
    const std::string detached = "detach Detaching environment 7 of user alice from device 0";
    const std::string ended =
        "terminate Terminating process 71 from environment 7 that is running on GPU(s) 0";
    EXPECT_EQ(messages("").size(), 3U);
    EXPECT_EQ(
        messages("hello\n[ERROR] Not enough permissions to terminate process 70\nx"),
        (Texts{ended, detached, "failed [ERROR] Not enough permissions to terminate process 70"}));
    EXPECT_EQ(messages("[DEBUG] Process 70 already terminated"),
              (Texts{ended, detached, "failed [DEBUG] Process 70 already terminated"}));
    EXPECT_EQ(messages("[WARNING] \x1b[2J").back(), "failed [WARNING] \\x1b[2J");
    std::string many;
    for (int count = 0; count < 1000; ++count)
        many += "[ERROR] " + std::string(10'000, 'x') + "\n";
    EXPECT_EQ(messages(many).size(), 7U);
    EXPECT_LT(messages(many).back().size(), 400U);
}

} // namespace
} // namespace genv::remote
