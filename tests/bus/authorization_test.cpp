// SPDX-License-Identifier: LGPL-2.1-or-later
// Calls every method as the environment's owner, as another user, as root, and as another user whom
// a polkit rule allows. The list of methods is checked against introspection, so no method can be
// forgotten.
#include "core/base/descriptor.hpp"
#include "core/base/glibc_pidfd.hpp"
#include "core/settings/caps.hpp"
#include "tests/bus/support/fixture.hpp"
#include "tests/bus/support/monitor.hpp"
#include "tests/bus/support/queue.hpp"

#include <signal.h>

#include <algorithm>
#include <regex>
#include <set>

namespace genv::tests {
namespace {

// The outcome of a call.
enum class Outcome { Allowed, Denied };

struct Expected {
    Outcome owner;
    Outcome other;
    Outcome root;
    Outcome ruled;
};

constexpr Expected free{Outcome::Allowed, Outcome::Allowed, Outcome::Allowed, Outcome::Allowed};
constexpr Expected owners{Outcome::Allowed, Outcome::Denied, Outcome::Allowed, Outcome::Allowed};
constexpr Expected administrators{Outcome::Denied, Outcome::Denied, Outcome::Allowed,
                                  Outcome::Allowed};

// The objects of the calls in one round: an environment of alice's with device 0 and two processes,
// a process of hers on a GPU, and a shell of hers outside every environment.
struct Scene {
    std::string id;
    core::Pid second = 0;
    core::Pid compute = 0;
    core::Pid shell = 0;
};

struct Row {
    const char* interface;
    const char* member;
    Expected expected;
    std::function<Answer(Client&, const Scene&)> call;
};

template <typename... Arguments>
auto toManager(const char* member, const char* signature = "", Arguments... arguments) {
    return [=](Client& client, const Scene&) {
        return client.manager(member, signature, arguments...);
    };
}

// Her environment waits for both devices. Another environment of hers holds one of them.
Answer cancelAWait(Client& client, const Scene& scene) {
    Client waiter(alice);
    EXPECT_TRUE(
        waiter.manager("Activate", "a{sv}", 2, "pid", "u", scene.shell, "gpus", "u", 1U).ok());
    const auto call = waiter.start(environmentPath(scene.id), environmentInterface, "Attach",
                                   "a{sv}", 2, "count", "u", 2U, "wait", "b", 1);
    std::vector<Waiting> queue;
    waitUntil([&] { return !(queue = queueOf(waiter)).empty(); }, "the wait");
    return client.manager("CancelWait", "t", queue.front().ticket);
}

const std::vector<Row>& matrix() {
    static const std::vector<Row> rows{
        {managerInterface, "Activate", owners,
         [](Client& client, const Scene& scene) {
             return client.manager("Activate", "a{sv}", 2, "pid", "u", scene.shell, "uid", "u",
                                   alice);
         }},
        {managerInterface, "ListEnvironments", free, toManager("ListEnvironments")},
        {managerInterface, "ListDevices", free, toManager("ListDevices")},
        {managerInterface, "ListAttachments", free, toManager("ListAttachments")},
        {managerInterface, "ListProcesses", free, toManager("ListProcesses")},
        {managerInterface, "DescribeProcesses", free, toManager("DescribeProcesses")},
        {managerInterface, "ListReadings", free, toManager("ListReadings", "t", std::uint64_t{0})},
        {managerInterface, "GetEnvironment", free,
         [](Client& client, const Scene& scene) {
             return client.manager("GetEnvironment", "s", scene.id.c_str());
         }},
        {managerInterface, "GetDevice", free, toManager("GetDevice", "u", 0U)},
        {managerInterface, "GetEnvironmentByPID", free,
         [](Client& client, const Scene& scene) {
             return client.manager("GetEnvironmentByPID", "u", scene.second);
         }},
        {managerInterface, "Snapshot", free, toManager("Snapshot")},
        {managerInterface, "GetLimits", free, toManager("GetLimits", "u", alice)},
        {managerInterface, "Enforce", administrators, toManager("Enforce", "a{sv}", 0)},
        {managerInterface, "Execute", administrators, toManager("Execute", "s", "{}")},
        {managerInterface, "TerminateProcess", owners,
         [](Client& client, const Scene& scene) {
             return client.manager("TerminateProcess", "u", scene.compute);
         }},
        {managerInterface, "ListQueue", free, toManager("ListQueue")},
        {managerInterface, "DescribeQueue", free, toManager("DescribeQueue")},
        {managerInterface, "ListUse", administrators,
         toManager("ListUse", "a{sv}", 1, "all", "b", 1)},
        {managerInterface, "CancelWait", owners, cancelAWait},
        // There is no journal on this bus. Only callers who may read the journal get this error.
        {managerInterface, "ListEvents", owners,
         toManager("ListEvents", "tta{sv}", std::uint64_t{0}, std::uint64_t{1}, 1, "uid", "u",
                   alice)},
        {managerInterface, "DescribeIsolation", free, toManager("DescribeIsolation")},
        {managerInterface, "ListRefusedOpens", administrators,
         toManager("ListRefusedOpens", "a{sv}", 1, "all", "b", 1)},
        // Isolation is not configured on this bus. Only callers who may suspend it get this error.
        {managerInterface, "SuspendIsolation", administrators,
         toManager("SuspendIsolation", "b", 1)},
        {managerInterface, "Reload", administrators, toManager("Reload")},
        {environmentInterface, "Attach", owners,
         [](Client& client, const Scene& scene) {
             return client.environment(scene.id, "Attach", "a{sv}", 1, "count", "u", 2U);
         }},
        {environmentInterface, "Detach", owners,
         [](Client& client, const Scene& scene) {
             return client.environment(scene.id, "Detach", "au", 0);
         }},
        {environmentInterface, "Configure", owners,
         [](Client& client, const Scene& scene) {
             return client.environment(scene.id, "Configure", "a{sv}as", 1, "name", "s", "x", 0);
         }},
        {environmentInterface, "AddProcess", owners,
         [](Client& client, const Scene& scene) {
             return client.environment(scene.id, "AddProcess", "u", scene.shell);
         }},
        {environmentInterface, "RemoveProcess", owners,
         [](Client& client, const Scene& scene) {
             return client.environment(scene.id, "RemoveProcess", "u", scene.second);
         }},
        {environmentInterface, "RemoveProcessByPIDFD", owners,
         [](Client& client, const Scene& scene) {
             const core::Descriptor process(::pidfd_open(static_cast<pid_t>(scene.second), 0));
             return client.environment(scene.id, "RemoveProcessByPIDFD", "h", process.get());
         }},
        // There is no such kernel. Only callers who may add one get this error.
        {environmentInterface, "AddKernel", owners,
         [](Client& client, const Scene& scene) {
             return client.environment(scene.id, "AddKernel", "s", "none");
         }},
        {environmentInterface, "RemoveKernel", owners,
         [](Client& client, const Scene& scene) {
             return client.environment(scene.id, "RemoveKernel", "s", "none");
         }},
        {environmentInterface, "Deactivate", owners,
         [](Client& client, const Scene& scene) {
             return client.environment(scene.id, "Deactivate");
         }},
        {environmentInterface, "Lock", owners,
         [](Client& client, const Scene& scene) { return client.environment(scene.id, "Lock"); }},
        // Nothing can be parked on this bus. Only callers who may park get that error.
        {environmentInterface, "Park", owners,
         [](Client& client, const Scene& scene) {
             return client.environment(scene.id, "Park", "a{sv}", 0);
         }},
        {environmentInterface, "Resume", owners,
         [](Client& client, const Scene& scene) {
             return client.environment(scene.id, "Resume", "a{sv}", 0);
         }},
        {deviceInterface, "Detach", administrators,
         [](Client& client, const Scene& scene) {
             return client.call(devicePath(0), deviceInterface, "Detach", "s", scene.id.c_str());
         }},
    };
    return rows;
}

class Authorization : public BusTest {
  protected:
    Authorization() : BusTest({{"GENV_MOCK_DEVICE_COUNT", "2"}}) {}

    Outcome outcomeOf(const Row& row, Client& client) {
        const UserProcess first(alice);
        const UserProcess second(alice);
        const UserProcess shell(alice);
        const UserProcess compute({.uid = alice, .compute = true});
        Scene scene{activate(*asAlice, first, 1), second.pid(), compute.pid(), shell.pid()};
        EXPECT_TRUE(asAlice->environment(scene.id, "AddProcess", "u", second.pid()).ok());
        if (std::string(row.member) == "TerminateProcess")
            waitForCompute(compute.pid());
        const Answer answer = row.call(client, scene);
        asRoot->environment(scene.id, "Deactivate");
        const bool denied =
            answer.error == error::accessDenied || answer.error == error::interactive;
        // The service looks for kernels, the journal and what it can park after the authorization,
        // and finds none.
        if (!denied && answer.error != error::noSuchProcess &&
            answer.error != error::notSupported && answer.error != "dev.genv.Error.CannotPark" &&
            answer.error != "dev.genv.Error.NotParked") {
            EXPECT_EQ(answer.error, "")
                << row.interface << "." << row.member << ": " << answer.text;
        }
        return denied ? Outcome::Denied : Outcome::Allowed;
    }

    // A sample is up to a second old, so it may not contain the process yet.
    void waitForCompute(core::Pid pid) {
        waitUntil(
            [&] {
                return asRoot->manager("Snapshot").readString().find(std::to_string(pid)) !=
                       std::string::npos;
            },
            "the compute process");
    }
};

TEST_F(Authorization, HoldsForEveryMethodAndEveryKindOfCaller) {
    const Rule rule("carol",
                    "subject.user == 'carol' && action.id.indexOf('dev.genv.manager.') == 0");
    for (const Row& row : matrix()) {
        const std::string name = std::string(row.interface) + "." + row.member;
        // RemoveKernel refuses an unknown kernel before it asks polkit.
        if (std::string(row.member) == "RemoveKernel")
            continue;
        EXPECT_EQ(outcomeOf(row, *asAlice), row.expected.owner) << name << " by the owner";
        EXPECT_EQ(outcomeOf(row, *asBob), row.expected.other) << name << " by another user";
        EXPECT_EQ(outcomeOf(row, *asRoot), row.expected.root) << name << " by root";
        EXPECT_EQ(outcomeOf(row, *asCarol), row.expected.ruled)
            << name << " by a user whom a rule allows";
    }
}

TEST_F(Authorization, MatrixNamesEveryMethodThatIsThere) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell);
    std::set<std::string> introspected;
    for (const std::string& path : {std::string(managerPath), environmentPath(id), devicePath(0)}) {
        const std::string xml =
            asAlice->call(path, "org.freedesktop.DBus.Introspectable", "Introspect").readString();
        const std::regex token("<(interface|method|property) name=\"([^\"]+)\"([^>]*)>");
        std::string interface;
        for (auto i = std::sregex_iterator(xml.begin(), xml.end(), token);
             i != std::sregex_iterator(); ++i) {
            if ((*i)[1] == "interface") {
                interface = (*i)[2];
            } else if (interface.rfind("dev.genv.", 0) == 0 && (*i)[1] == "method") {
                introspected.insert(interface + "." + (*i)[2].str());
            } else if (interface.rfind("dev.genv.", 0) == 0) {
                EXPECT_NE((*i)[3].str().find("access=\"read\""), std::string::npos)
                    << (*i)[2] << " can be written";
            }
        }
    }
    std::set<std::string> named;
    for (const Row& row : matrix())
        EXPECT_TRUE(named.insert(std::string(row.interface) + "." + row.member).second);
    EXPECT_EQ(introspected, named);
}

TEST_F(Authorization, LetsRulesDecideOnTheDetails) {
    const UserProcess shell(alice);
    const UserProcess bobs(bob);
    const std::string id = activate(*asAlice, shell, 1);
    const std::string other = activate(*asBob, bobs);
    const Rule rule("details",
                    "action.id == 'dev.genv.manager.manage-others' && subject.user == 'carol' && "
                    "action.lookup('environment') == '" +
                        id +
                        "' && action.lookup('owner') == 'alice' && "
                        "action.lookup('uid') == '1001' && action.lookup('devices') == '0'");
    EXPECT_TRUE(asCarol->call(devicePath(0), deviceInterface, "Detach", "s", id.c_str()).ok());
    EXPECT_FALSE(asCarol->environment(other, "Deactivate").ok());
    const Rule gpus("gpus",
                    "action.id == 'dev.genv.manager.attach' && Number(action.lookup('gpus')) > 1",
                    "NO");
    EXPECT_EQ(asAlice->environment(id, "Attach", "a{sv}", 1, "count", "u", 2U).error,
              error::accessDenied);
    EXPECT_TRUE(asAlice->environment(id, "Attach", "a{sv}", 1, "count", "u", 1U).ok());
}

TEST_F(Authorization, LetsAnAdministratorForbidOverSubscription) {
    const Rule rule(
        "students",
        "action.id == 'dev.genv.manager.over-subscribe' && subject.isInGroup('students')", "NO");
    const UserProcess shell(alice);
    const UserProcess bobs(bob);
    allowOverSubscribe(*asAlice, activate(*asAlice, shell, 2));
    const std::string id = activate(*asBob, bobs);
    EXPECT_EQ(
        asBob->environment(id, "Attach", "a{sv}", 2, "count", "u", 1U, "over-subscribe", "b", 1)
            .error,
        error::accessDenied);
    EXPECT_EQ(devicesOf(id), "");
}

TEST_F(Authorization, GivesUpWhenTheCallerLeavesWhileItIsAsked) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell);
    signalDaemon("polkitd", SIGSTOP);
    {
        Client leaving(alice);
        const auto pending = leaving.start(environmentPath(id), environmentInterface, "Attach",
                                           "a{sv}", 1, "count", "u", 1U);
        leaving.ping();
        // Root's call needs no authorization, and calls are answered in order: the service has read
        // alice's call by then.
        asRoot->manager("ListDevices");
    }
    service.waitForLog("refused dev.genv.Environment.Attach");
    EXPECT_EQ(service.log().find("not authorized in time"), std::string::npos)
        << "it is not waited for";
    signalDaemon("polkitd", SIGCONT);
    EXPECT_TRUE(asAlice->environment(id, "Configure", "a{sv}as", 1, "name", "s", "x", 0).ok())
        << "polkit answers again";
    EXPECT_EQ(devicesOf(id), "") << "a caller that left gets nothing";
}

TEST_F(Authorization, RefusesWhatChangedWhileItWasAsked) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell);
    signalDaemon("polkitd", SIGSTOP);
    const auto attach = asAlice->start(environmentPath(id), environmentInterface, "Attach", "a{sv}",
                                       1, "count", "u", 1U);
    asAlice->ping();
    // The environment ends, and another one of bob's takes its id.
    EXPECT_TRUE(asRoot->environment(id, "Deactivate").ok());
    const UserProcess bobs(bob);
    EXPECT_TRUE(asRoot
                    ->manager("Activate", "a{sv}", 3, "id", "s", id.c_str(), "pid", "u", bobs.pid(),
                              "uid", "u", bob)
                    .ok());
    signalDaemon("polkitd", SIGCONT);
    EXPECT_EQ(asAlice->finish(*attach).error, error::noSuchEnvironment);
    EXPECT_EQ(devicesOf(id), "");
}

TEST_F(Authorization, AsksAnewWhenTheDeviceIsGoneByTheTimeOfTheAnswer) {
    const UserProcess shell(alice);
    const UserProcess roots(root);
    const std::string id = activate(*asAlice, shell);
    signalDaemon("polkitd", SIGSTOP);
    const auto attach = asAlice->start(environmentPath(id), environmentInterface, "Attach", "a{sv}",
                                       1, "count", "u", 1U);
    asAlice->ping();
    const std::string taker = activate(*asRoot, roots);
    EXPECT_EQ(asRoot->environment(taker, "Attach", "a{sv}", 1, "index", "u", 0U).readUnsignedList(),
              std::vector<std::uint32_t>{0});
    signalDaemon("polkitd", SIGCONT);
    EXPECT_EQ(asAlice->finish(*attach).readUnsignedList(), std::vector<std::uint32_t>{1});
}

TEST_F(Authorization, FindsPolkitBeforeTheFirstQuestion) {
    Monitor monitor("interface='org.freedesktop.DBus.Properties',"
                    "path='/org/freedesktop/PolicyKit1/Authority'");
    service.restart(SIGTERM);
    EXPECT_TRUE(monitor.awaitCall("GetAll").empty());
}

TEST_F(Authorization, MeansNoWithoutPolkit) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell);
    control("stop-polkitd");
    const Answer answer = asAlice->environment(id, "Attach", "a{sv}", 1, "count", "u", 1U);
    EXPECT_EQ(answer.error, error::accessDenied);
    EXPECT_TRUE(asRoot->environment(id, "Attach", "a{sv}", 1, "count", "u", 1U).ok())
        << "root is not asked";
    control("start-polkitd");
    EXPECT_TRUE(asAlice->environment(id, "Detach", "au", 0).ok());
}

TEST_F(Authorization, MeansNoWherePolkitDoesNotAnswerInTime) {
    Monitor monitor("member='CancelCheckAuthorization'");
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell);
    signalDaemon("polkitd", SIGSTOP);
    const Answer answer = asAlice->environment(id, "Attach", "a{sv}", 1, "count", "u", 1U);
    EXPECT_EQ(answer.error, error::accessDenied);
    EXPECT_NE(answer.text.find("not authorized in time to attach GPUs"), std::string::npos)
        << answer.text;
    EXPECT_EQ(devicesOf(id), "");
    monitor.awaitCall("CancelCheckAuthorization"); // polkit need not answer it any more
    signalDaemon("polkitd", SIGCONT);
    EXPECT_TRUE(asAlice->environment(id, "Attach", "a{sv}", 1, "count", "u", 1U).ok())
        << "the late answer is nobody's";
}

TEST_F(Authorization, SurvivesThatTheObjectGoesWhileItIsAsked) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell);
    signalDaemon("polkitd", SIGSTOP);
    std::vector<std::unique_ptr<PendingCall>> pending;
    for (int i = 0; i < 4; ++i)
        pending.push_back(
            asAlice->start(environmentPath(id), environmentInterface, "Detach", "au", 0));
    asAlice->ping();
    EXPECT_TRUE(asRoot->environment(id, "Deactivate").ok());
    signalDaemon("polkitd", SIGCONT);
    for (const auto& call : pending)
        EXPECT_EQ(asAlice->finish(*call).error, error::noSuchEnvironment);
    EXPECT_EQ(environmentCount(), "0");
}

TEST_F(Authorization, LetsManyQuestionsOfOneUserWaitAndServesOthers) {
    const UserProcess shell(alice);
    const UserProcess bobs(bob);
    const std::string id = activate(*asAlice, shell);
    const std::string other = activate(*asBob, bobs);
    signalDaemon("polkitd", SIGSTOP);
    std::vector<std::unique_ptr<PendingCall>> pending;
    for (std::size_t i = 0; i < 10 * core::caps::questionsAtPolkit; ++i)
        pending.push_back(
            asAlice->start(environmentPath(id), environmentInterface, "Detach", "au", 0));
    const auto bobsCall =
        asBob->start(environmentPath(other), environmentInterface, "Detach", "au", 0);
    asBob->ping();
    EXPECT_TRUE(asBob->manager("ListDevices").ok());
    EXPECT_FALSE(bobsCall->answered);
    signalDaemon("polkitd", SIGCONT);
    EXPECT_TRUE(asBob->finish(*bobsCall).ok());
    EXPECT_FALSE(pending.back()->answered) << "he took turns with her";
    for (const auto& call : pending)
        EXPECT_TRUE(asAlice->finish(*call).ok()) << call->answer.text;
}

TEST_F(Authorization, NobodyElseGetsTheName) {
    Message request = asAlice->newCall("org.freedesktop.DBus", "/org/freedesktop/DBus",
                                       "org.freedesktop.DBus", "RequestName");
    sd_bus_message_append(request.get(), "su", "dev.genv.Manager", 0U);
    EXPECT_EQ(asAlice->send(request).error, error::accessDenied);
}

TEST_F(Authorization, NothingOfTheServiceIsReachedThroughOtherInterfaces) {
    const auto refused = [&](const char* interface, const char* member) {
        return asAlice->call(managerPath, interface, member).error;
    };
    EXPECT_EQ(refused("org.freedesktop.systemd1.Manager", "ListUnits"), error::accessDenied);
    EXPECT_EQ(asAlice
                  ->call(managerPath, "org.freedesktop.DBus.Properties", "Set", "ssv",
                         managerInterface, "Version", "s", "x")
                  .error,
              error::accessDenied);
    EXPECT_NE(asRoot
                  ->call(managerPath, "org.freedesktop.DBus.Properties", "Set", "ssv",
                         managerInterface, "Version", "s", "x")
                  .error,
              "");
}

TEST_F(Authorization, RefusesToTakeADeviceFromAnotherThanWasAskedAbout) {
    const Rule rule("carol", "action.id == 'dev.genv.manager.manage-others'");
    const UserProcess shell(alice);
    const UserProcess bobs(bob);
    const std::string id = activate(*asAlice, shell, 1);
    signalDaemon("polkitd", SIGSTOP);
    const auto detach = asCarol->start(devicePath(0), deviceInterface, "Detach", "s", id.c_str());
    asCarol->ping();
    EXPECT_TRUE(asRoot->environment(id, "Deactivate").ok());
    EXPECT_TRUE(asRoot
                    ->manager("Activate", "a{sv}", 4, "id", "s", id.c_str(), "pid", "u", bobs.pid(),
                              "uid", "u", bob, "gpus", "u", 1U)
                    .ok());
    signalDaemon("polkitd", SIGCONT);
    EXPECT_EQ(asCarol->finish(*detach).error, error::noSuchDevice);
    EXPECT_EQ(devicesOf(id), "0");
}

} // namespace
} // namespace genv::tests
