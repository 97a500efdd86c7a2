// SPDX-License-Identifier: LGPL-2.1-or-later
// A Slurm job on the bus: the requests of a prolog and an epilog, and the devices that are refused
// to all others.
#include "tests/bus/support/fixture.hpp"
#include "tests/bus/support/queue.hpp"
#include "tests/service/line_helper.hpp"

#include <signal.h>

#include <fstream>

namespace genv::tests {
namespace {

// GPUs 2 and 3 are reserved for Slurm.
class Jobs : public BusTest {
  protected:
    Jobs() : BusTest({{"GENV_MOCK_DEVICE_COUNT", "4"}}) { reserve(uuidOf(2) + "," + uuidOf(3)); }
    ~Jobs() override { std::filesystem::remove(configuration()); }

    static std::filesystem::path configuration() {
        return Service::configurationFolder() / "genvd.conf";
    }
    void reserve(const std::string& devices, const std::string& more = "") {
        std::ofstream(configuration()) << "[Slurm]\nDevices=" << devices << "\n" << more;
        EXPECT_TRUE(asRoot->manager("Reload").ok());
    }
    std::string uuidOf(std::uint32_t index) {
        return asRoot->property(devicePath(index), deviceInterface, "UUID");
    }
    // The request of the prolog of a job of alice's.
    Answer prolog(const char* job, const std::string& uuid, bool evict = true) {
        return asRoot->manager("Activate", "a{sv}", 5, "job", "s", job, "uid", "u", alice, "uuids",
                               "as", 1, uuid.c_str(), "evict", "b", evict ? 1 : 0, "ends", "t",
                               std::uint64_t{1'795'000'000'000'000});
    }
    std::string of(const std::string& id, const char* property) {
        return asRoot->property(environmentPath(id), environmentInterface, property);
    }
    std::string attachIndex(Client& client, const std::string& id, std::uint32_t index) {
        const Answer answer = client.environment(id, "Attach", "a{sv}", 1, "index", "u", index);
        return answer.error + " " + answer.text;
    }
};

TEST_F(Jobs, AreEnvironmentsWithoutAProcessThatOnlyTheEpilogEnds) {
    const Answer started = prolog("12", uuidOf(2));
    ASSERT_TRUE(started.ok()) << started.text;
    EXPECT_EQ(of("slurm-12", "Job"), "12");
    EXPECT_EQ(of("slurm-12", "User"), "alice");
    EXPECT_EQ(of("slurm-12", "Devices"), "2");
    EXPECT_EQ(of("slurm-12", "Processes"), "");
    EXPECT_EQ(of("slurm-12", "Expires"), "1795000000000000");
    const std::string sentence = "GPU 2 belongs to Slurm job 12; scancel 12 ends it";
    for (Client* client : {asAlice.get(), asBob.get()}) {
        const Answer refused = client->environment("slurm-12", "Deactivate");
        EXPECT_EQ(refused.error, error::notSupported);
        EXPECT_EQ(refused.text, sentence);
    }
    EXPECT_EQ(asAlice->environment("slurm-12", "Detach", "au", 0).text, sentence);
    EXPECT_EQ(asAlice->environment("slurm-12", "Attach", "a{sv}", 1, "count", "u", 1U).text,
              sentence);
    EXPECT_EQ(asRoot->call(devicePath(2), deviceInterface, "Detach", "s", "").text, sentence);
    EXPECT_EQ(asAlice->environment("slurm-12", "Configure", "a{sv}as", 1, "name", "s", "x", 0).text,
              sentence);
    const UserProcess shell(alice);
    EXPECT_EQ(asAlice->environment("slurm-12", "AddProcess", "u", shell.pid()).text, sentence);
    EXPECT_EQ(of("slurm-12", "Devices"), "2");
    EXPECT_TRUE(asRoot->environment("slurm-12", "Deactivate").ok());
    EXPECT_EQ(environmentCount(), "0");
}

TEST_F(Jobs, AreTheSameWhenThePrologAsksTwice) {
    const std::string created = [&] {
        prolog("12", uuidOf(2));
        return of("slurm-12", "Created");
    }();
    const Answer again = prolog("12", uuidOf(2));
    EXPECT_EQ(again.readString(), "slurm-12");
    EXPECT_EQ(of("slurm-12", "Created"), created);
    EXPECT_EQ(environmentCount(), "1");
    const Answer byIndex = asRoot->manager("Activate", "a{sv}", 3, "job", "s", "12", "uid", "u",
                                           alice, "indices", "au", 1, 2U);
    EXPECT_TRUE(byIndex.ok()) << byIndex.text;
    EXPECT_EQ(of("slurm-12", "Devices"), "2");
}

TEST_F(Jobs, ComeBackOverARestartAndAKill) {
    prolog("12", uuidOf(2));
    prolog("13", uuidOf(2)); // the jobs share it
    const std::string created = of("slurm-12", "Created");
    for (const int signal : {SIGTERM, SIGKILL}) {
        service.restart(signal);
        EXPECT_EQ(of("slurm-12", "Created"), created);
        EXPECT_EQ(of("slurm-12", "Job"), "12");
        EXPECT_EQ(of("slurm-12", "Devices") + of("slurm-13", "Devices"), "22");
    }
    EXPECT_TRUE(asRoot->environment("slurm-12", "Deactivate").ok());
    EXPECT_EQ(of("slurm-13", "Devices"), "2");
}

TEST_F(Jobs, TakeTheirDevicesFromALocalHolderWhoHearsOfIt) {
    reserve("none");
    const UserProcess shell(bob);
    UserProcess compute({.uid = bob, .compute = true});
    const std::string id = activate(*asBob, shell);
    EXPECT_EQ(attachIndex(*asBob, id, 1), " ");
    EXPECT_EQ(attachIndex(*asBob, id, 2), " ");
    EXPECT_TRUE(asBob->environment(id, "AddProcess", "u", compute.pid()).ok());
    reserve(uuidOf(2));
    EXPECT_EQ(devicesOf(id), "1,2") << "what is held stays held until a job gets it";
    RecordedSignals signals(*asBob);
    asBob->ping();
    EXPECT_EQ(prolog("12", uuidOf(2), false).error, error::deviceUnavailable);
    EXPECT_EQ(devicesOf(id), "1,2");
    EXPECT_TRUE(prolog("12", uuidOf(2)).ok());
    EXPECT_EQ(devicesOf(id), "1");
    asBob->processUntil(
        [&] { return signals.notice("detached") != nullptr && !signals.detached.empty(); },
        "the notice");
    EXPECT_EQ(signals.notice("detached")->uid, bob);
    EXPECT_EQ(signals.notice("detached")->environment, id);
    EXPECT_EQ(signals.notice("detached")->details.at("reason"), "job");
    EXPECT_EQ(signals.notice("detached")->details.at("device"), "2");
    EXPECT_EQ(signals.detached, std::vector<std::string>{id + " 2 job"});
    EXPECT_EQ(signals.notice("attached"), nullptr) << "a job is no news to its owner";
    EXPECT_EQ(compute.wait(), SIGTERM) << "its processes there are ended";
}

TEST_F(Jobs, KeepTheDevicesOfSlurmFromEverybodyElse) {
    EXPECT_EQ(asAlice->property(devicePath(2), deviceInterface, "ReservedFor"), "slurm");
    EXPECT_EQ(asAlice->property(devicePath(1), deviceInterface, "ReservedFor"), "");
    const UserProcess shell(alice);
    const UserProcess roots(root);
    const std::string id = activate(*asAlice, shell);
    const std::string sentence =
        std::string(error::deviceUnavailable) + " GPU 2 is Slurm's: use \"srun --gpus=1 COMMAND\"";
    EXPECT_EQ(attachIndex(*asAlice, id, 2).substr(0, sentence.size()), sentence);
    const std::string ofRoot = activate(*asRoot, roots);
    EXPECT_EQ(attachIndex(*asRoot, ofRoot, 2).substr(0, sentence.size()), sentence);
    const Answer waiting =
        asAlice->environment(id, "Attach", "a{sv}", 2, "index", "u", 2U, "wait", "b", 1);
    EXPECT_EQ(waiting.error, error::deviceUnavailable) << "it would wait for ever";
    EXPECT_EQ(asAlice->environment(id, "Attach", "a{sv}", 1, "count", "u", 3U).error,
              error::notEnoughDevices);
    EXPECT_TRUE(asAlice->environment(id, "Attach", "a{sv}", 1, "count", "u", 2U).ok());
    EXPECT_EQ(devicesOf(id), "0,1");
    reserve("none");
    EXPECT_EQ(asAlice->property(devicePath(2), deviceInterface, "ReservedFor"), "");
    EXPECT_EQ(attachIndex(*asAlice, id, 2), " ");
}

// Without a change, the next sample of the GPUs detects it.
TEST_F(Jobs, HaveTheirDevicesListedAgainWhenTheFolderIsRemoved) {
    const std::filesystem::path folder = Service::stateFolder().parent_path() / "slurm";
    const std::filesystem::path socket = Service::configurationFolder() / "slurm-socket";
    const LineHelper slurm(socket, [](const std::string& /*line*/) {
        return "{\"devices\":[{\"number\":0,\"node\":[195,2]}]}\n";
    });
    reserve(uuidOf(2), "[Enforcement]\nInterval=1s\n");
    service.addArgument("--slurm-socket=" + socket.string());
    service.set("GENV_MOCK_DEVICE_NODES", "195:0,195:1,195:2,195:3");
    const std::string expected = "0 " + uuidOf(2);
    service.restart(SIGTERM);
    const auto isListed = [&] {
        std::string line;
        std::ifstream devices(folder / "devices");
        return std::getline(devices, line) && line == expected;
    };
    waitUntil(isListed, "the list");
    std::filesystem::remove_all(folder);
    waitUntil(isListed, "the list to be written again");
    std::filesystem::remove_all(folder);
    std::filesystem::remove(socket);
}

TEST_F(Jobs, AreStartedByRootAlone) {
    const Rule rule("everything", "action.id.indexOf('dev.genv.manager.') == 0");
    for (const char* option : {"job", "evict", "ends", "sluid"}) {
        const Answer answer =
            std::string(option) == "job"
                ? asAlice->manager("Activate", "a{sv}", 2, "job", "s", "12", "uid", "u", alice)
            : std::string(option) == "evict"
                ? asAlice->manager("Activate", "a{sv}", 1, "evict", "b", 1)
            : std::string(option) == "sluid"
                ? asAlice->manager("Activate", "a{sv}", 1, "sluid", "s", "sEKNKTV3WPV500")
                : asAlice->manager("Activate", "a{sv}", 1, "ends", "t", std::uint64_t{1});
        EXPECT_EQ(answer.error, error::accessDenied) << option;
        EXPECT_EQ(answer.text,
                  "job, evict, ends and sluid are root's alone: Slurm's prolog gives them");
    }
    const UserProcess shell(alice);
    prolog("12", uuidOf(2));
    for (const char* id : {"slurm-12", "slurm-13", "slurm-x"}) {
        const Answer answer =
            asAlice->manager("Activate", "a{sv}", 2, "id", "s", id, "pid", "u", shell.pid());
        EXPECT_EQ(answer.error, error::accessDenied) << id;
        EXPECT_NE(answer.text.find("are those of Slurm's jobs"), std::string::npos) << answer.text;
    }
    EXPECT_EQ(
        asRoot->manager("Activate", "a{sv}", 2, "id", "s", "slurm-13", "pid", "u", shell.pid())
            .error,
        error::invalidArgs);
    EXPECT_EQ(environmentCount(), "1");
}

TEST_F(Jobs, ThatMakeNoSenseChangeNothing) {
    for (const char* job :
         {"", "0", "012", "-1", "12.batch", "12_3", "x", "4294967296", "\x1b[31m"}) {
        const Answer answer = prolog(job, uuidOf(2));
        EXPECT_EQ(answer.error, error::invalidArgs) << job;
        EXPECT_EQ(answer.text.find('\x1b'), std::string::npos);
    }
    const auto refused = [&](const Answer& answer) { return answer.error; };
    EXPECT_EQ(refused(prolog("12", "GPU-nonexistent")), error::noSuchDevice);
    EXPECT_EQ(refused(asRoot->manager("Activate", "a{sv}", 1, "job", "s", "12")),
              error::invalidArgs)
        << "whose it is";
    EXPECT_EQ(refused(asRoot->manager("Activate", "a{sv}", 3, "job", "s", "12", "uid", "u", alice,
                                      "id", "s", "slurm-13")),
              error::invalidArgs);
    EXPECT_EQ(refused(asRoot->manager("Activate", "a{sv}", 3, "job", "s", "12", "uid", "u", alice,
                                      "wait", "b", 1)),
              error::invalidArgs);
    EXPECT_EQ(refused(asRoot->manager("Activate", "a{sv}", 3, "job", "s", "12", "uid", "u", alice,
                                      "ends", "t", UINT64_MAX)),
              error::invalidArgs);
    EXPECT_EQ(refused(asRoot->manager("Activate", "a{sv}", 1, "evict", "b", 1)),
              error::invalidArgs);
    EXPECT_EQ(refused(asRoot->manager("Activate", "a{sv}", 1, "sluid", "s", "sEKNKTV3WPV500")),
              error::invalidArgs);
    for (const char* sluid : {"", "12", "job_12", "seknktv3wpv500", "sEKNKTV3WPV50O", "\x1b[31m"}) {
        const Answer answer = asRoot->manager("Activate", "a{sv}", 3, "job", "s", "12", "uid", "u",
                                              alice, "sluid", "s", sluid);
        EXPECT_EQ(answer.error, error::invalidArgs) << sluid;
        EXPECT_EQ(answer.text.find('\x1b'), std::string::npos);
    }
    EXPECT_EQ(environmentCount(), "0");
    EXPECT_TRUE(asRoot->manager("Activate", "a{sv}", 2, "job", "s", "12", "uid", "u", alice).ok())
        << "a job without a GPU";
    EXPECT_EQ(of("slurm-12", "Devices"), "");
}

TEST_F(Jobs, AreExtendedByNobodyUnlessARuleAllowsIt) {
    reserve(uuidOf(2), "[Limits]\nMaxLifetime=2h\n");
    prolog("12", uuidOf(2));
    const auto extend = [&](Client& client, std::uint64_t seconds) {
        return client.environment("slurm-12", "Configure", "a{sv}as", 1, "lifetime", "t", seconds,
                                  0);
    };
    EXPECT_EQ(extend(*asAlice, 3600).error, error::accessDenied);
    EXPECT_FALSE(extend(*asBob, 3600).ok());
    const Rule rule("extend", "action.id == 'dev.genv.manager.extend-job' && "
                              "action.lookup('environment') == 'slurm-12'");
    EXPECT_EQ(extend(*asAlice, 36000).error, error::quotaExceeded);
    EXPECT_FALSE(extend(*asBob, 3600).ok()) << "it is not his";
    // Nothing on this bus asks Slurm. Only callers who may extend the job get this error.
    const Answer allowed = extend(*asAlice, 3600);
    EXPECT_EQ(allowed.error, "org.freedesktop.DBus.Error.IOError");
    EXPECT_EQ(allowed.text.find("Slurm job 12 was not extended: "), 0U) << allowed.text;
    EXPECT_EQ(of("slurm-12", "Expires"), "1795000000000000");
}

} // namespace
} // namespace genv::tests
