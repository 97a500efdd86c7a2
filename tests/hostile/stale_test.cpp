// SPDX-License-Identifier: LGPL-2.1-or-later
// Objects change hands while polkit is asked about them: an answer applies only to the object in
// the question, and not to its successor.
#include "core/settings/caps.hpp"
#include "tests/bus/support/fixture.hpp"
#include "tests/bus/support/monitor.hpp"

#include <signal.h>

namespace genv::tests {
namespace {

class Stale : public BusTest {
  protected:
    // Makes a call of alice's. When this returns, the service has read it and asked polkit.
    template <typename... Arguments>
    std::unique_ptr<PendingCall> ask(const std::string& path, const char* interface,
                                     const char* member, const char* signature = "",
                                     Arguments... arguments) {
        auto call = asAlice->start(path, interface, member, signature, arguments...);
        asAlice->ping();
        // Calls are answered in order, so the service has read alice's call by then.
        EXPECT_TRUE(asRoot->manager("ListDevices").ok());
        return call;
    }

    std::string activateAs(core::Uid uid, const UserProcess& process, const std::string& id,
                           std::uint32_t gpus) {
        return asRoot
            ->manager("Activate", "a{sv}", 4, "id", "s", id.c_str(), "pid", "u", process.pid(),
                      "uid", "u", uid, "gpus", "u", gpus)
            .readString();
    }
};

TEST_F(Stale, AnEnvironmentThatCameAgainUnderItsIdIsAnother) {
    const UserProcess second(alice);
    using Ask = std::function<std::unique_ptr<PendingCall>(const std::string&, core::Pid)>;
    const auto method = [&](const char* member, const char* signature, auto... arguments) {
        return [=, this](const std::string& path, core::Pid) {
            return ask(path, environmentInterface, member, signature, arguments...);
        };
    };
    const std::vector<Ask> methods{
        method("Attach", "a{sv}", 1, "count", "u", 2U),
        method("Detach", "au", 0),
        method("Configure", "a{sv}as", 1, "name", "s", "mine", 0),
        method("AddProcess", "u", second.pid()),
        [&](const std::string& path, core::Pid pid) {
            return ask(path, environmentInterface, "RemoveProcess", "u", pid);
        },
        method("AddKernel", "s", "k"),
        method("Deactivate", ""),
        method("Lock", ""),
    };
    for (const Ask& call : methods) {
        const UserProcess shell(alice);
        const UserProcess bobs(bob);
        const std::string id = activateAs(alice, shell, "taken", 1);
        signalDaemon("polkitd", SIGSTOP);
        const auto pending = call(environmentPath(id), shell.pid());
        EXPECT_TRUE(asRoot->environment(id, "Deactivate").ok());
        activateAs(bob, bobs, id, 1);
        signalDaemon("polkitd", SIGCONT);
        EXPECT_EQ(asAlice->finish(*pending).error, error::noSuchEnvironment);
        EXPECT_EQ(devicesOf(id), "0") << "bob's is untouched";
        EXPECT_EQ(asRoot->property(environmentPath(id), environmentInterface, "Uid"), "1002");
        EXPECT_EQ(asRoot->property(environmentPath(id), environmentInterface, "Processes"),
                  std::to_string(bobs.pid()));
        EXPECT_TRUE(asRoot->environment(id, "Deactivate").ok());
    }
}

TEST_F(Stale, AnIdThatSomebodyTookMeanwhileIsNotJoined) {
    const UserProcess shell(alice);
    const UserProcess bobs(bob);
    signalDaemon("polkitd", SIGSTOP);
    const auto pending = ask(managerPath, managerInterface, "Activate", "a{sv}", 3, "id", "s",
                             "wanted", "pid", "u", shell.pid(), "gpus", "u", 1U);
    activateAs(bob, bobs, "wanted", 1);
    signalDaemon("polkitd", SIGCONT);
    EXPECT_EQ(asAlice->finish(*pending).error, error::alreadyExists);
    EXPECT_EQ(asRoot->property(environmentPath("wanted"), environmentInterface, "Processes"),
              std::to_string(bobs.pid()));
    EXPECT_EQ(environmentCount(), "1");
}

TEST_F(Stale, ADeviceIsTakenFromNobodyWhoWasNotAskedAbout) {
    const Rule rule("alice-manages",
                    R"(action.id == "dev.genv.manager.manage-others" && subject.user == "alice")");
    const UserProcess bobs(bob);
    const UserProcess carols(carol);
    const std::string id = activateAs(bob, bobs, "held", 1);
    signalDaemon("polkitd", SIGSTOP);
    const auto pending = ask(devicePath(0), deviceInterface, "Detach", "s", id.c_str());
    EXPECT_TRUE(asRoot->environment(id, "Deactivate").ok());
    activateAs(carol, carols, id, 1);
    signalDaemon("polkitd", SIGCONT);
    EXPECT_NE(asAlice->finish(*pending).error, "");
    EXPECT_EQ(devicesOf(id), "0") << "carol keeps hers";
}

TEST_F(Stale, ADeviceIsNotTakenFromAnotherEnvironmentOfTheSameOwner) {
    const Rule rule("alice-manages",
                    R"(action.id == "dev.genv.manager.manage-others" && subject.user == "alice")");
    const UserProcess first(bob);
    const UserProcess second(bob);
    const std::string id = activateAs(bob, first, "held", 1);
    signalDaemon("polkitd", SIGSTOP);
    const auto pending = ask(devicePath(0), deviceInterface, "Detach", "s", id.c_str());
    EXPECT_TRUE(asRoot->environment(id, "Deactivate").ok());
    activateAs(bob, second, id, 1);
    signalDaemon("polkitd", SIGCONT);
    EXPECT_EQ(asAlice->finish(*pending).error, error::noSuchDevice);
    EXPECT_EQ(devicesOf(id), "0") << "it is another one, though bob's, too";
}

TEST_F(Stale, WhoeverLeavesTakesTheQuestionAlong) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    signalDaemon("polkitd", SIGSTOP);
    std::string departed;
    {
        Client leaving(alice);
        departed = leaving.uniqueName();
        const auto pending = leaving.start(environmentPath(id), environmentInterface, "Deactivate");
        EXPECT_TRUE(leaving.manager("ListDevices").ok()) << "the service has asked polkit";
    }
    service.waitForLog("refused dev.genv.Environment.Deactivate from uid 1001 (" + departed + ")");
    // Names of connections are not reused: no later connection is taken for one that has closed.
    for (int i = 0; i < 50; ++i)
        EXPECT_NE(Client(bob).uniqueName(), departed);
    signalDaemon("polkitd", SIGCONT);
    EXPECT_TRUE(asAlice->environment(id, "Configure", "a{sv}as", 0, 0).ok())
        << "polkit answers again, in order";
    EXPECT_EQ(devicesOf(id), "0");
}

// libpolkit warns about each question that it cannot cancel because its subject no longer exists.
TEST_F(Stale, WhoeverLeavesFillsNoLog) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    Monitor monitor("member='CancelCheckAuthorization'");
    signalDaemon("polkitd", SIGSTOP);
    for (const core::Uid user : {alice, bob}) {
        for (std::size_t i = 0; i < core::caps::questionsAtPolkit; ++i) {
            Client leaving(user);
            leaving.start(environmentPath(id), environmentInterface, "Deactivate");
            EXPECT_TRUE(leaving.manager("ListDevices").ok()) << "the service has asked polkit";
        }
        // Questions keep their places at polkit until then.
        for (std::size_t i = 0; i < core::caps::questionsAtPolkit; ++i)
            monitor.awaitCall("CancelCheckAuthorization");
    }
    signalDaemon("polkitd", SIGCONT);
    EXPECT_TRUE(asAlice->environment(id, "Configure", "a{sv}as", 0, 0).ok())
        << "polkit has answered all that were asked before";
    service.end(SIGTERM);
    const std::string log = service.log();
    const std::string complaint = "Error cancelling authorization check";
    std::size_t lines = 0;
    for (std::size_t at = log.find(complaint); at != std::string::npos;
         at = log.find(complaint, at + 1))
        ++lines;
    EXPECT_EQ(lines, 10U) << log;
    EXPECT_NE(log.find(" more lines of GLib were left out"), std::string::npos) << log;
}

} // namespace
} // namespace genv::tests
