// SPDX-License-Identifier: LGPL-2.1-or-later
// Rules over the real bus: who may enforce, which processes and attachments end, which are exempt,
// and which signals and notices are sent.
#include "tests/bus/support/fixture.hpp"

#include <signal.h>

#include <algorithm>
#include <fstream>

namespace genv::tests {
namespace {

struct Action {
    std::string kind;
    std::string message;
};

std::vector<Action> readActions(sd_bus_message* message) {
    std::vector<Action> actions;
    sd_bus_message_enter_container(message, 'a', "(sa{sv})");
    while (sd_bus_message_enter_container(message, 'r', "sa{sv}") > 0) {
        const char* kind = nullptr;
        sd_bus_message_read(message, "s", &kind);
        Action action{kind, ""};
        sd_bus_message_enter_container(message, 'a', "{sv}");
        while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
            const char* name = nullptr;
            sd_bus_message_read(message, "s", &name);
            if (std::string(name) == "message") {
                const char* text = nullptr;
                sd_bus_message_read(message, "v", "s", &text);
                action.message = text;
            } else {
                sd_bus_message_skip(message, "v");
            }
            sd_bus_message_exit_container(message);
        }
        sd_bus_message_exit_container(message);
        sd_bus_message_exit_container(message);
        actions.push_back(std::move(action));
    }
    return actions;
}

std::vector<std::string> messagesOf(const Answer& answer) {
    EXPECT_EQ(answer.error, "") << answer.text;
    std::vector<std::string> messages;
    if (answer.ok()) {
        for (const Action& action : readActions(answer.message.get()))
            messages.push_back(action.message);
    }
    return messages;
}

using Messages = std::vector<std::string>;

std::string text(core::Pid pid) {
    return std::to_string(pid);
}

class Enforcement : public BusTest {
  protected:
    // One GPU: the simulated driver puts every program on every device.
    Enforcement() : BusTest({{"GENV_MOCK_DEVICE_COUNT", "1"}}) {}

    static ProcessOptions program(core::Uid uid, const std::string& id = "",
                                  const std::string& created = "") {
        ProcessOptions options{.uid = uid, .compute = true};
        if (!id.empty())
            options.environment["GENV_ENVIRONMENT_ID"] = id;
        if (!created.empty())
            options.environment["GENV_ENVIRONMENT_CREATED"] = created;
        return options;
    }
    std::string createdOf(const std::string& id) {
        return asRoot->property(environmentPath(id), environmentInterface, "Created");
    }
    // A dry run, which every user may make, with this number of user names.
    Answer enforceForUsers(std::uint32_t count) {
        const Message message =
            asAlice->newCall("dev.genv.Manager", managerPath, managerInterface, "Enforce");
        sd_bus_message* m = message.get();
        sd_bus_message_open_container(m, 'a', "{sv}");
        sd_bus_message_append(m, "{sv}", "dry-run", "b", 1);
        sd_bus_message_open_container(m, 'e', "sv");
        sd_bus_message_append(m, "s", "max-devices-for-user");
        sd_bus_message_open_container(m, 'v', "a{su}");
        sd_bus_message_open_container(m, 'a', "{su}");
        for (std::uint32_t i = 0; i < count; ++i)
            sd_bus_message_append(m, "{su}", ("user" + std::to_string(i)).c_str(), 1U);
        for (int i = 0; i < 4; ++i)
            sd_bus_message_close_container(m);
        return asAlice->send(message);
    }
    static void configure(const std::string& configuration) {
        std::ofstream(Service::configurationFolder() / "genvd.conf") << configuration;
    }
};

TEST_F(Enforcement, EndsAProcessOutsideEnvironmentsAndSparesOneInside) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    UserProcess inside(program(alice, id));
    UserProcess outside(program(bob));
    UserProcess roots(program(root));
    EXPECT_EQ(messagesOf(asRoot->manager("Enforce", "a{sv}", 1, "non-env-processes", "b", 1)),
              (Messages{"Process " + text(outside.pid()) + " is not running in a GPU environment",
                        "Terminating process " + text(outside.pid()) +
                            " from environment N/A that is running on GPU(s) 0"}));
    EXPECT_EQ(outside.wait(), SIGTERM);
    EXPECT_FALSE(inside.hasEnded());
    EXPECT_FALSE(roots.hasEnded()) << "never root's";
    service.waitForLog(
        "process " + text(outside.pid()) +
        " (gpu-program) of uid 1002, environment none, on GPU 0 was told to end (reason "
        "rule:non-env-processes, by uid 0)");
}

TEST_F(Enforcement, SignalsWhichProcessWasEndedAndWhy) {
    std::string ended;
    const Slot slot =
        asAlice->listen("type='signal',member='ProcessTerminated'", [&](sd_bus_message* message) {
            core::Pid pid = 0;
            const char* environment = nullptr;
            const char* reason = nullptr;
            sd_bus_message_read(message, "uss", &pid, &environment, &reason);
            ended = text(pid) + " " + environment + " " + reason;
        });
    UserProcess outside(program(bob));
    ASSERT_TRUE(asRoot->manager("Enforce", "a{sv}", 1, "non-env-processes", "b", 1).ok());
    EXPECT_EQ(outside.wait(), SIGTERM);
    asAlice->processUntil([&] { return !ended.empty(); }, "the signal");
    EXPECT_EQ(ended, text(outside.pid()) + "  rule:non-env-processes");
}

TEST_F(Enforcement, KnowsTheProcessesOfAnEnvironmentByDescentNamespaceAndWord) {
    const UserProcess shell({.uid = alice, .compute = true, .hasChild = true});
    const std::string id = activate(*asAlice, shell, 1);
    UserProcess daemonised(program(alice, id));
    UserProcess container(program(root, id, createdOf(id))); // started as dockerd starts it
    UserProcess liar(program(bob, id));
    EXPECT_EQ(messagesOf(asRoot->manager("Enforce", "a{sv}", 1, "max-devices-per-user", "u", 0U)),
              (Messages{"User alice is using 1 devices which is 1 more than the maximum allowed",
                        "Terminating process " + text(shell.child()) + " from environment " + id +
                            " that is running on GPU(s) 0",
                        "Terminating process " + text(daemonised.pid()) + " from environment " +
                            id + " that is running on GPU(s) 0",
                        "Terminating process " + text(container.pid()) + " from environment " + id +
                            " that is running on GPU(s) 0",
                        "Detaching environment " + id + " of user alice from device 0"}));
    EXPECT_EQ(daemonised.wait(), SIGTERM);
    EXPECT_EQ(container.wait(), SIGTERM);
    EXPECT_FALSE(liar.hasEnded()) << "bob is in no environment of alice's";
    EXPECT_EQ(devicesOf(id), "");
}

TEST_F(Enforcement, SparesRootsProcessWhoseIdIsAnotherEnvironmentsByNow) {
    const auto start = [](Client& client, const UserProcess& shell) {
        return client.manager("Activate", "a{sv}", 2, "pid", "u", shell.pid(), "id", "s", "work");
    };
    UserProcess bobs(bob);
    ASSERT_TRUE(start(*asBob, bobs).ok());
    const std::string created = createdOf("work");
    UserProcess container(program(root, "work", created)); // started as the docker shim starts one
    UserProcess older(program(root, "work")); // started as before GENV_ENVIRONMENT_CREATED existed
    bobs.kill(SIGKILL);
    waitUntil([&] { return environmentCount() == "0"; }, "bob's environment to end");

    const UserProcess alices(alice);
    ASSERT_TRUE(start(*asAlice, alices).ok());
    ASSERT_NE(createdOf("work"), created);
    EXPECT_EQ(messagesOf(asRoot->manager("Enforce", "a{sv}", 2, "non-env-processes", "b", 1,
                                         "env-devices", "b", 1)),
              Messages{});
    EXPECT_FALSE(container.hasEnded());
    EXPECT_FALSE(older.hasEnded());
}

TEST_F(Enforcement, TakesAuthorizationAndDoesNothingWithout) {
    UserProcess victim(program(alice));
    const auto enforce = [](Client& client) {
        return client.manager("Enforce", "a{sv}", 1, "non-env-processes", "b", 1);
    };
    EXPECT_EQ(enforce(*asBob).error, error::interactive);
    EXPECT_FALSE(victim.hasEnded());
    service.waitForLog("refused dev.genv.Manager.Enforce");
    const Rule rule("enforce", "action.id == 'dev.genv.manager.enforce' && subject.user == 'bob'");
    EXPECT_EQ(messagesOf(enforce(*asBob)).size(), 2U);
    EXPECT_EQ(victim.wait(), SIGTERM);
    service.waitForLog("(reason rule:non-env-processes, by uid 1002)");
    service.waitForLog("is not running in a GPU environment (enforced by uid 1002)");
}

TEST_F(Enforcement, ADryRunIsFreeAndDoesNothing) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    UserProcess inside(program(alice, id));
    // The sample may be a second old.
    waitUntil(
        [&] {
            return messagesOf(asBob->manager("Enforce", "a{sv}", 2, "dry-run", "b", 1,
                                             "max-devices-per-user", "u", 0U))
                       .size() == 3U;
        },
        "the process to be found");
    EXPECT_EQ(devicesOf(id), "0");
    EXPECT_FALSE(inside.hasEnded());
}

TEST_F(Enforcement, DetachesWithoutSignalsWhenAskedTo) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    UserProcess inside(program(alice, id));
    EXPECT_EQ(messagesOf(asRoot->manager("Enforce", "a{sv}", 3, "terminate", "b", 0, "env-devices",
                                         "b", 0, "max-devices-for-user", "a{su}", 1, "alice", 0U))
                  .size(),
              2U);
    EXPECT_EQ(devicesOf(id), "");
    EXPECT_FALSE(inside.hasEnded());
}

TEST_F(Enforcement, RepeatsForItsCallerAloneAndOnlyWhileTheyStay) {
    const UserProcess shell(alice);
    const auto repeat = [](Client& client) {
        return client.manager("Enforce", "a{sv}", 3, "dry-run", "b", 1, "interval", "t",
                              std::uint64_t{1}, "max-environments-per-user", "u", 0U);
    };
    int receivedByOthers = 0;
    const Slot other = asBob->listen("type='signal',member='Enforced'",
                                     [&](sd_bus_message*) { ++receivedByOthers; });
    {
        Client caller(alice);
        std::vector<Action> received;
        const Slot own = caller.listen("type='signal',member='Enforced'",
                                       [&](sd_bus_message* m) { received = readActions(m); });
        EXPECT_EQ(messagesOf(repeat(caller)).size(), 0U);
        const std::string id = activate(*asAlice, shell);
        caller.processUntil([&] { return !received.empty(); }, "a cycle that finds something");
        EXPECT_EQ(received.front().kind, "finding");
        EXPECT_EQ(received.front().message,
                  "User alice has 1 active environment, 1 more than allowed");
        EXPECT_EQ(received.back().kind, "end");
        EXPECT_EQ(received.back().message, "Would end environment " + id + " of user alice");
        EXPECT_EQ(environmentCount(), "1") << "a dry run";
        asBob->ping(); // everything that was sent to bob before has arrived
        EXPECT_EQ(receivedByOthers, 0) << "the caller alone is told";
        for (int i = 0; i < 3; ++i)
            EXPECT_TRUE(repeat(caller).ok());
        EXPECT_EQ(repeat(caller).error, error::limitsExceeded);
        EXPECT_TRUE(repeat(*asBob).ok()) << "others are served";
    }
    waitUntil([&] { return repeat(*asAlice).ok(); }, "the caller's cycles to end with it");
}

TEST_F(Enforcement, RefusesWhatMakesNoSense) {
    EXPECT_EQ(asRoot->manager("Enforce", "a{sv}", 1, "max-devices", "u", 1U).error,
              error::invalidArgs);
    EXPECT_EQ(asRoot->manager("Enforce", "a{sv}", 1, "interval", "t", std::uint64_t{0}).error,
              error::invalidArgs);
    EXPECT_EQ(asRoot->manager("Enforce", "a{sv}", 1, "max-lifetime", "t", ~std::uint64_t{0}).error,
              error::invalidArgs);
    EXPECT_EQ(enforceForUsers(1000).error, "");
    const Answer tooMany = enforceForUsers(1001);
    EXPECT_EQ(tooMany.error, error::invalidArgs);
    EXPECT_NE(tooMany.text.find("at most 1000"), std::string::npos) << tooMany.text;
    for (const char* report : {"", "[]", "{\"terminate\": 3}", "{\"detach\": {\"x\": {}}}"})
        EXPECT_EQ(asRoot->manager("Execute", "s", report).error, error::invalidArgs) << report;
}

TEST_F(Enforcement, ParsesNoReportOfWhomeverMayNotEnforce) {
    const std::string malformed(1 << 20, '[');
    EXPECT_EQ(asAlice->manager("Execute", "s", malformed.c_str()).error, error::interactive);
    EXPECT_EQ(asRoot->manager("Execute", "s", malformed.c_str()).error, error::invalidArgs);
    const std::string tooLong((4 << 20) + 1, ' ');
    EXPECT_EQ(asAlice->manager("Execute", "s", tooLong.c_str()).error, error::invalidArgs);
}

TEST_F(Enforcement, ExecutesAReportAsFarAsItIsStillSo) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    UserProcess named(program(alice, id));
    UserProcess moved(program(bob));
    const std::string report =
        R"({"terminate": {"processes": [{"pid": )" + text(named.pid()) + R"(, "eid": ")" + id +
        R"(", "used_gpu_memory": [{"index": 0, "gpu_memory": "42mi"}]}, {"pid": )" +
        text(moved.pid()) + R"(, "eid": ")" + id +
        R"(", "used_gpu_memory": [{"index": 0, "gpu_memory": "42mi"}]}]}, )" +
        R"("detach": {"0": {"envs": [{"eid": ")" + id + R"("}]}}})";
    EXPECT_EQ(messagesOf(asRoot->manager("Execute", "s", report.c_str())),
              (Messages{"Terminating process " + text(named.pid()) + " from environment " + id +
                            " that is running on GPU(s) 0",
                        "Detaching environment " + id + " of user alice from device 0",
                        "[DEBUG] Process " + text(moved.pid()) + " already terminated"}));
    EXPECT_EQ(named.wait(), SIGTERM);
    EXPECT_FALSE(moved.hasEnded()) << "it is in no environment, so it is not what was meant";
    EXPECT_EQ(devicesOf(id), "");
}

TEST_F(Enforcement, KillsWhatIgnoresToEnd) {
    configure("[Enforcement]\nKillAfter=100ms\n");
    ASSERT_TRUE(asRoot->manager("Reload").ok());
    UserProcess stubborn({.uid = bob, .compute = true, .ignoresSigterm = true});
    EXPECT_EQ(
        messagesOf(asRoot->manager("Enforce", "a{sv}", 1, "non-env-processes", "b", 1)).size(), 2U);
    EXPECT_EQ(stubborn.wait(), SIGKILL);
}

TEST_F(Enforcement, IsOneAtATimeAndSaysSo) {
    ::kill(service.pid(), SIGSTOP); // so that the service finds both at once
    const auto first = asRoot->start(managerPath, managerInterface, "Enforce", "a{sv}", 0);
    const auto second = asRoot->start(managerPath, managerInterface, "Enforce", "a{sv}", 1,
                                      "interval", "t", std::uint64_t{1});
    asRoot->ping();
    ::kill(service.pid(), SIGCONT);
    EXPECT_EQ(asRoot->finish(*second).error, "dev.genv.Error.Busy");
    EXPECT_EQ(asRoot->finish(*first).error, "");
    EXPECT_TRUE(asRoot->manager("Enforce", "a{sv}", 0).ok()) << "the refused one repeats nothing";
}

TEST_F(Enforcement, TerminatesOnesOwnProcessInOnesEnvironmentAndNobodyElses) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    UserProcess own(program(alice, id));
    const UserProcess bobs(program(bob));
    // A sample is up to a second old, so it may not contain them yet.
    for (const core::Pid pid : {own.pid(), bobs.pid()})
        waitUntil(
            [&] {
                return asRoot->manager("Snapshot").readString().find(text(pid)) !=
                       std::string::npos;
            },
            "the compute process");
    EXPECT_EQ(asAlice->manager("TerminateProcess", "u", bobs.pid()).error, error::interactive);
    EXPECT_EQ(asAlice->manager("TerminateProcess", "u", shell.pid()).error, error::noSuchProcess)
        << "it uses no GPU";
    ASSERT_EQ(asAlice->manager("TerminateProcess", "u", own.pid()).error, "");
    EXPECT_EQ(own.wait(), SIGTERM);
    EXPECT_EQ(asAlice->manager("TerminateProcess", "u", own.pid()).error, error::noSuchProcess);
}

TEST_F(Enforcement, TheServiceWarnsTheOwnerAndThenActsByItself) {
    int warnings = 0;
    std::string warned;
    const Slot slot = asBob->listen("type='signal',member='Notice'", [&](sd_bus_message* message) {
        core::Uid uid = 0;
        const char* kind = nullptr;
        sd_bus_message_read(message, "us", &uid, &kind);
        warnings += uid == bob && std::string(kind) == "warning" ? 1 : 0;
    });
    UserProcess outside(program(bob));
    configure("[Enforcement]\nInterval=1s\nNonEnvProcesses=yes\nGrace=1h\n");
    ASSERT_TRUE(asRoot->manager("Reload").ok());
    asBob->processUntil([&] { return warnings > 0; }, "the warning");
    EXPECT_FALSE(outside.hasEnded());
    service.waitForLog("is not running in a GPU environment; the rule acts in 1h");
    configure("[Enforcement]\nInterval=1s\nNonEnvProcesses=yes\nGrace=0\n");
    ASSERT_TRUE(asRoot->manager("Reload").ok());
    EXPECT_EQ(outside.wait(), SIGTERM);
    asBob->ping();
    EXPECT_EQ(warnings, 1) << "once";
}

// -- the examples of the documentation

class Examples : public BusTest {
  protected:
    Examples() : BusTest({{"GENV_MOCK_DEVICE_COUNT", "4"}}) {}
    ~Examples() override { control("remove-rule example"); }

    static void install(const std::string& name) {
        std::ifstream file(std::string(GENV_EXAMPLES_FOLDER) + "/" + name);
        const std::string rule((std::istreambuf_iterator<char>(file)),
                               std::istreambuf_iterator<char>());
        ASSERT_FALSE(rule.empty());
        control("add-rule example", rule);
    }
    static std::string attach(Client& client, const std::string& id, std::uint32_t count,
                              bool overSubscribe) {
        return client
            .environment(id, "Attach", "a{sv}", 2, "count", "u", count, "over-subscribe", "b",
                         overSubscribe ? 1 : 0)
            .error;
    }
};

TEST_F(Examples, StudentsMayNotOverSubscribe) {
    install("50-genv-students.rules");
    const UserProcess alices(alice);
    const UserProcess bobs(bob);
    EXPECT_EQ(attach(*asAlice, activate(*asAlice, alices), 4, true), "");
    const std::string his = activate(*asBob, bobs);
    EXPECT_EQ(attach(*asBob, his, 1, true), error::accessDenied);
    EXPECT_EQ(devicesOf(his), "");
}

TEST_F(Examples, EverybodyMayOverSubscribeAsWithGenv1) {
    const UserProcess alices(alice);
    const UserProcess bobs(bob);
    activate(*asAlice, alices, 4);
    const std::string his = activate(*asBob, bobs);
    EXPECT_EQ(attach(*asBob, his, 1, true), error::interactive);
    install("50-genv-over-subscribe.rules");
    EXPECT_EQ(attach(*asBob, his, 1, true), "");
    EXPECT_EQ(devicesOf(his), "0");
}

TEST_F(Examples, GpuAdminsKeepOrderWithoutAPassword) {
    install("50-genv-gpu-admins.rules");
    UserProcess victim({.uid = alice, .compute = true});
    UserProcess roots({.uid = root, .compute = true});
    const auto terminate = [](Client& client, const UserProcess& process) {
        return client.manager("TerminateProcess", "u", process.pid()).error;
    };
    waitUntil([&] { return terminate(*asBob, roots) != error::noSuchProcess; }, "the programs");
    EXPECT_EQ(terminate(*asBob, victim), error::interactive) << "bob is none of them";
    EXPECT_EQ(terminate(*asCarol, roots), error::interactive) << "but never root's";
    EXPECT_EQ(terminate(*asCarol, victim), "");
    EXPECT_EQ(victim.wait(), SIGTERM);
    EXPECT_TRUE(asCarol->manager("Enforce", "a{sv}", 0).ok());
    EXPECT_EQ(asCarol->manager("Reload").error, error::interactive) << "no more than that";
}

TEST_F(Examples, ARuleSetsAQuota) {
    install("50-genv-quota.rules");
    const UserProcess alices(alice);
    const UserProcess bobs(bob);
    const std::string hers = activate(*asAlice, alices);
    const std::string his = activate(*asBob, bobs);
    EXPECT_EQ(attach(*asAlice, hers, 3, false), error::accessDenied);
    EXPECT_EQ(attach(*asAlice, hers, 2, false), "");
    EXPECT_EQ(attach(*asBob, his, 2, false), error::accessDenied);
    EXPECT_EQ(attach(*asBob, his, 1, false), "");
}

} // namespace
} // namespace genv::tests
