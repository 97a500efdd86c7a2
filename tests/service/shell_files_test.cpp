// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/sentences/sentences.hpp"
#include "service/shell/shell_files.hpp"
#include "tests/core/ledger_fixture.hpp"
#include "tests/service/temporary_folder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace genv::service {
namespace {

using core::Reason;
using tests::alice;
using tests::bob;

/// The data that a shell reads.
struct Seen {
    std::uint64_t sequence = 0;
    std::uint64_t began = 0;
    std::string devices;
    std::vector<std::string> sentences;
    std::vector<std::uint64_t> sequences;
};

class ShellFilesTest : public tests::LedgerTest {
  protected:
    ShellFilesTest() {
        haveGpus(4);
        begin();
        events.subscribe([this](const core::Event& event) { files->onEvent(event); });
    }

    /// Starts as the service does, which knows only the contents of the folder.
    void begin() {
        files.emplace(folder.path(), ledger, clock, users, log);
        files->start();
    }

    [[nodiscard]] std::filesystem::path fileOf(const std::string& label) const {
        return folder.path() / "shell" / label;
    }
    [[nodiscard]] std::string textOf(const std::string& label) const {
        std::ifstream file(fileOf(label));
        return {std::istreambuf_iterator<char>(file), {}};
    }
    [[nodiscard]] Seen see(const std::string& label = "_37") const {
        Seen seen;
        std::ifstream file(fileOf(label));
        file >> seen.sequence >> seen.began >> seen.devices;
        for (std::uint64_t sequence = 0; file >> sequence;) {
            seen.sequences.push_back(sequence);
            file.ignore(1);
            std::getline(file, seen.sentences.emplace_back());
        }
        return seen;
    }
    [[nodiscard]] FileReader readerOf(const std::string& label) const {
        const core::Descriptor file(::open(fileOf(label).c_str(), O_RDONLY | O_CLOEXEC));
        return service::readerOf(file.get());
    }
    [[nodiscard]] std::size_t count() const {
        return static_cast<std::size_t>(
            std::distance(std::filesystem::directory_iterator(folder.path() / "shell"), {}));
    }

    void attachFor(const std::string& id, std::vector<core::DeviceIndex> indices,
                   std::chrono::seconds lifetime) {
        ledger.attach(id, planned(id, {core::IndicesWanted{std::move(indices)}, {}, {}, false}),
                      alice, {false, lifetime});
    }
    void activateFor(const std::string& id, std::chrono::seconds lifetime) {
        auto environment = newEnvironment(id, alice, static_cast<core::Pid>(std::stoul(id)));
        environment.lifetime = lifetime;
        ledger.activate(std::move(environment), std::nullopt, alice);
    }
    /// Warns as core/leases does on time.
    void warn(const std::string& id, std::optional<core::DeviceIndex> index) {
        std::optional<core::DeviceFacts> device;
        if (index)
            device = ledger.device(*index).facts;
        events.emit(core::LeaseEnding{id, alice, device, std::chrono::minutes{10}});
    }
    [[nodiscard]] std::string inTime(std::chrono::seconds time) const {
        return core::nameTime(clock.wallNow() + time);
    }

    tests::TemporaryFolder folder;
    tests::FakeUsers users;
    tests::SilentLog log;
    std::optional<ShellFiles> files;
};

TEST_F(ShellFilesTest, SayWhichDevicesAnEnvironmentHas) {
    activate("7", alice);
    EXPECT_EQ(see().devices, "-1");
    EXPECT_EQ(see().began, core::toMicroseconds(ledger.get("7").created));
    const std::uint64_t before = see().sequence;
    attachIndices("7", {3, 1});
    EXPECT_EQ(see().devices, "1,3");
    EXPECT_GT(see().sequence, before) << "also within the same microsecond";
    ledger.detach("7", {1}, alice);
    EXPECT_EQ(see().devices, "3");
    EXPECT_TRUE(see().sentences.empty()) << "one's own doing is no news";
    EXPECT_TRUE(log.lines.empty());
}

TEST_F(ShellFilesTest, AreNamedByTheEscapedIdAndReadableByTheOwner) {
    ::umask(077);
    const auto environment = newEnvironment("a.b:c", alice, 9);
    ledger.activate(environment, std::nullopt, alice);
    EXPECT_EQ(readerOf("a_2eb_3ac"), alice);
    struct stat status {};
    ASSERT_EQ(::stat(fileOf("a_2eb_3ac").c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, ::geteuid()) << "the reader cannot change it";
    ASSERT_EQ(::stat((folder.path() / "shell").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0755U);
    EXPECT_EQ(count(), 1U) << "nothing else is left";
}

TEST_F(ShellFilesTest, OfEarlierVersionsBecomeReadableByTheOwner) {
    activate("7", alice);
    attachCount("7", 1);
    activate("8", alice);
    ledger.deactivate("8", tests::root);
    const std::string ended = textOf("_38");
    EXPECT_EQ(readerOf("_38"), alice) << "the reason of the end is the owner's to read";
    begin();
    EXPECT_EQ(readerOf("_38"), alice) << "also after a restart";
    for (const char* label : {"_37", "_38"})
        ASSERT_EQ(::chmod(fileOf(label).c_str(), 0644), 0);
    begin();
    EXPECT_EQ(readerOf("_37"), alice);
    EXPECT_EQ(readerOf("_38"), tests::root) << "the file does not say whose it was";
    EXPECT_EQ(textOf("_38"), ended);
}

TEST_F(ShellFilesTest, TellTheNextOwnerOfAnIdNothingOfTheLast) {
    activate("7", alice);
    ledger.deactivate("7", tests::root);
    ASSERT_EQ(see().sentences.size(), 1U);
    clock.pass(std::chrono::seconds{1});
    processes.add(70, bob);
    ledger.activate(newEnvironment("7", bob, 70), std::nullopt, bob);
    EXPECT_EQ(readerOf("_37"), bob);
    EXPECT_TRUE(see().sentences.empty());
}

TEST_F(ShellFilesTest, HaveTheFirstDevicesOfAnEnvironmentWithoutASentence) {
    const auto placement = core::place({core::CountWanted{2}, std::nullopt, std::nullopt, false},
                                       ledger.devices(), nullptr);
    ledger.activate(newEnvironment("7", alice, 7), placement, tests::root);
    EXPECT_EQ(see().devices, "0,1");
    EXPECT_TRUE(see().sentences.empty());
    ledger.detach("7", {0}, alice);
    EXPECT_TRUE(see().sentences.empty());
}

TEST_F(ShellFilesTest, TellWhoTookDevicesAndWhy) {
    activate("7", alice);
    attachCount("7", 4);
    ledger.detach("7", {2, 0}, tests::root);
    EXPECT_EQ(see().devices, "1,3");
    EXPECT_EQ(see().sentences.back(), "GPUs 0,2 were taken away by an administrator (root)");
    EXPECT_EQ(see().sequences.back(), see().sequence);
    ledger.takeAway("7", "GPU-1", core::Cause::fact(Reason::rule("max-devices-per-user")));
    EXPECT_EQ(see().sentences.back(), "GPU 1 was taken away by the rule max-devices-per-user");
    ledger.takeAway("7", "GPU-3", core::Cause::fact(Reason::expired()));
    EXPECT_EQ(see().sentences.back(), "GPU 3 was taken away because its lease ended");
    ledger.attach("7", planned("7", {core::CountWanted{1}, {}, {}, false}), tests::root);
    EXPECT_EQ(see().sentences.back(), "GPU 0 was attached by an administrator (root)");
    haveGpus(0);
    EXPECT_EQ(see().sentences.back(), "GPU 0 was taken away because the driver no longer has it");
    EXPECT_EQ(see().devices, "-1");
    EXPECT_EQ(see().sentences.size(), 5U);
}

TEST_F(ShellFilesTest, NameAnAdministratorOnceTheNameIsKnown) {
    users.add(1003, "carol\n\x1b[2J");
    users.slow = true;
    activate("7", alice);
    attachCount("7", 1);
    ledger.detachDevice(0, std::nullopt, 1003);
    EXPECT_EQ(see().sentences,
              std::vector<std::string>{"GPU 0 was taken away by an administrator (uid 1003)"});
    const std::uint64_t sequence = see().sequence;
    users.later();
    EXPECT_EQ(
        see().sentences,
        std::vector<std::string>{"GPU 0 was taken away by an administrator (carol\\x0a\\x1b[2J)"});
    EXPECT_EQ(see().sequence, sequence) << "who has read it is not told again";
}

TEST_F(ShellFilesTest, KeepTheLastSentences) {
    activate("7", alice);
    for (int i = 0; i < 6; ++i) {
        attachCount("7", 1);
        ledger.detach("7", {}, tests::root);
        ledger.attach("7", planned("7", {core::CountWanted{1}, {}, {}, false}), tests::root);
    }
    EXPECT_EQ(see().sentences.size(), ShellFiles::maxSentences);
    const Seen seen = see();
    EXPECT_TRUE(std::is_sorted(seen.sequences.begin(), seen.sequences.end()));
}

TEST_F(ShellFilesTest, GoWithAnEnvironmentThatItsOwnerOrItsProcessesEnded) {
    activate("7", alice);
    activate("8", alice);
    ledger.deactivate("7", alice);
    processes.exit(8);
    EXPECT_EQ(count(), 0U);
}

TEST_F(ShellFilesTest, StayAfterTheEndWhileASentenceIsFresh) {
    const auto tell = [&](const std::string& id) {
        files->notify(id, core::Cause::fact(Reason::user()),
                      [](const std::string&) { return "a rule ended process 7"; });
    };
    activate("7", alice);
    activate("8", alice);
    tell("8");
    clock.pass(std::chrono::seconds{10});
    tell("7");
    processes.exit(7);
    processes.exit(8);
    EXPECT_EQ(count(), 1U);
    EXPECT_EQ(see().began, 0U);
    EXPECT_EQ(see().devices, "-1");
    EXPECT_EQ(see().sentences, std::vector<std::string>{"a rule ended process 7"});
}

TEST_F(ShellFilesTest, SayOfAnEnvironmentThatSomebodyElseEndedWhy) {
    activate("7", alice);
    attachCount("7", 2);
    ledger.deactivate("7", tests::root);
    EXPECT_EQ(see().began, 0U);
    EXPECT_EQ(see().devices, "-1");
    EXPECT_EQ(see().sentences,
              std::vector<std::string>{"the environment was ended by an administrator (root)"});
    activate("8", alice);
    ledger.end("8", core::Cause::fact(Reason::idle()));
    EXPECT_EQ(
        see("_38").sentences,
        std::vector<std::string>{"the environment was ended because it was idle for too long"});

    // The id is free again.
    clock.pass(std::chrono::seconds{1});
    processes.add(70, bob);
    auto again = newEnvironment("7", bob, 71);
    ledger.activate(std::move(again), std::nullopt, bob);
    EXPECT_EQ(see().began, core::toMicroseconds(clock.wallNow()));
}

TEST_F(ShellFilesTest, KeepOnlySoManyOfEndedEnvironments) {
    for (std::size_t i = 0; i < ShellFiles::maxEnded + 5; ++i) {
        const std::string id = std::to_string(1000 + i);
        activate(id, alice);
        ledger.deactivate(id, tests::root);
    }
    EXPECT_EQ(count(), ShellFiles::maxEnded);
    EXPECT_FALSE(std::filesystem::exists(fileOf("_31004"))) << "the oldest go";
    EXPECT_TRUE(std::filesystem::exists(fileOf("_31005")));
    begin();
    activate("7", alice);
    ledger.deactivate("7", tests::root);
    EXPECT_EQ(count(), ShellFiles::maxEnded) << "also over a restart";
    EXPECT_FALSE(std::filesystem::exists(fileOf("_31005")));
}

TEST_F(ShellFilesTest, SurviveARestartWordForWord) {
    activate("7", alice);
    attachCount("7", 2);
    ledger.detach("7", {1}, tests::root);
    activate("8", alice);
    ledger.deactivate("8", tests::root);
    const std::string living = textOf("_37");
    const std::string ended = textOf("_38");
    struct stat before {};
    ASSERT_EQ(::stat(fileOf("_37").c_str(), &before), 0);
    begin();
    struct stat after {};
    ASSERT_EQ(::stat(fileOf("_37").c_str(), &after), 0);
    EXPECT_EQ(textOf("_37"), living);
    EXPECT_EQ(after.st_ino, before.st_ino) << "it was not written again";
    EXPECT_EQ(textOf("_38"), ended);
    ledger.detach("7", {0}, tests::root);
    EXPECT_EQ(see().sentences.size(), 2U);
}

TEST_F(ShellFilesTest, AreMadeRightAtStart) {
    activate("7", alice);
    attachCount("7", 1);
    folder.write("shell/_37", "99 5\n0,1,2\n99 old\n"); // another environment of this id
    folder.write("shell/_38", "99 5\n0\n");             // of one that has ended
    folder.write("shell/_39", "no number\n");           // not a file of genv's
    folder.write("shell/_3a", "");
    folder.write("shell/new.", "99 0\n-1\n99 a write that a crash cut short\n");
    begin();
    EXPECT_EQ(count(), 1U);
    EXPECT_EQ(see().devices, "0");
    EXPECT_EQ(see().began, core::toMicroseconds(ledger.get("7").created));
}

TEST_F(ShellFilesTest, TellWhatAWaitBrought) {
    activate("7", alice);
    attachIndices("7", {2, 1});
    const std::uint64_t before = see().sequence;
    events.emit(core::WaitGranted{
        "7", alice, {ledger.device(2).facts, ledger.device(1).facts}, std::chrono::minutes{5}});
    ASSERT_EQ(see().sentences,
              std::vector<std::string>{"GPUs 1,2 were granted after 5min in the queue"});
    EXPECT_GT(see().sequence, before);
    EXPECT_EQ(see().sequences.back(), see().sequence);
    EXPECT_EQ(see().devices, "1,2");
}

TEST_F(ShellFilesTest, TellOnceWhatAnAdministratorWaitedFor) {
    activate("7", alice);
    ledger.attach("7", planned("7", {core::CountWanted{1}, {}, {}, false}), tests::root);
    events.emit(core::WaitGranted{"7", alice, {ledger.device(0).facts}, std::chrono::minutes{5}});
    EXPECT_EQ(see().sentences,
              std::vector<std::string>{"GPU 0 was attached by an administrator (root)"});
}

TEST_F(ShellFilesTest, WarnOfALeaseThatEndsSoon) {
    activateFor("7", std::chrono::minutes{60});
    attachFor("7", {0, 1}, std::chrono::minutes{30});
    attachFor("7", {2}, std::chrono::minutes{20});
    warn("7", 1);
    warn("7", 0);
    const std::string pair = "the lease of GPUs 0,1 ends at " + inTime(std::chrono::minutes{30}) +
                             "; \"genv extend\" prolongs it";
    EXPECT_EQ(see().sentences, std::vector<std::string>{pair}) << "what ends at once is one";
    warn("7", 2);
    warn("7", std::nullopt);
    const std::string one = "the lease of GPU 2 ends at " + inTime(std::chrono::minutes{20}) +
                            "; \"genv extend\" prolongs it";
    const std::string all = "this environment ends at " + inTime(std::chrono::minutes{60}) +
                            "; \"genv extend\" prolongs it";
    EXPECT_EQ(see().sentences, (std::vector<std::string>{pair, one, all}));

    clock.pass(std::chrono::minutes{9});
    const std::uint64_t before = see().sequence;
    warn("7", 0);
    warn("7", 1);
    EXPECT_EQ(see().sentences, (std::vector<std::string>{one, all, pair})) << "said again";
    EXPECT_GT(see().sequences.back(), before);
}

TEST_F(ShellFilesTest, WarnOfNothingThatIsNoLongerSo) {
    activateFor("7", std::chrono::minutes{60});
    attachFor("7", {0, 1}, std::chrono::minutes{30});
    const std::string ends =
        " ends at " + inTime(std::chrono::minutes{30}) + "; \"genv extend\" prolongs it";
    warn("7", 0);
    warn("7", 1);
    warn("7", std::nullopt);
    ledger.detach("7", {0}, alice);
    EXPECT_EQ(see().sentences.front(), "the lease of GPU 1" + ends);
    const std::uint64_t sequence = see().sequence;
    core::EnvironmentConfigurationChange change;
    change.lifetime = std::chrono::hours{5};
    ledger.configure("7", change, alice);
    EXPECT_TRUE(see().sentences.empty()) << "it was extended";
    EXPECT_EQ(see().sequence, sequence);

    warn("7", 1);
    EXPECT_EQ(see().sentences.size(), 1U);
    ledger.takeAway("7", "GPU-1", core::Cause::fact(Reason::expired()));
    EXPECT_EQ(see().sentences,
              std::vector<std::string>{"GPU 1 was taken away because its lease ended"});
    warn("7", std::nullopt);
    ledger.end("7", core::Cause::fact(Reason::expired()));
    EXPECT_EQ(see().sentences.back(), "the environment was ended because its lease ended");
    EXPECT_EQ(see().sentences.size(), 2U);
}

TEST_F(ShellFilesTest, TellWhatALeaseEndedWhileTheServiceWasDown) {
    activate("7", alice);
    activateFor("8", std::chrono::minutes{30});
    attachFor("7", {0, 2}, std::chrono::minutes{30});
    attachIndices("7", {0, 1, 2});
    clock.pass(std::chrono::hours{1});

    core::EventHub silent;
    core::Ledger again(store, clock, silent);
    const core::RecoveryReport report = core::recover(again, store, processes, clock.bootNow());
    ShellFiles next(folder.path(), again, clock, users, log);
    next.start(report.expired);
    EXPECT_EQ(see().devices, "1");
    EXPECT_EQ(see().sentences,
              std::vector<std::string>{"GPUs 0,2 were taken away because their lease ended"});
    EXPECT_EQ(see("_38").began, 0U);
    EXPECT_EQ(see("_38").sentences,
              std::vector<std::string>{"the environment was ended because its lease ended"});
    const std::string living = textOf("_37");
    const std::string ended = textOf("_38");
    next.start();
    EXPECT_EQ(textOf("_37"), living) << "it is said once";
    EXPECT_EQ(textOf("_38"), ended);
}

TEST_F(ShellFilesTest, UseUuidsWhereAnyDeviceIsAnInstance) {
    activate("7", alice);
    attachIndices("7", {1});
    core::Observation observation = tests::gpus(4);
    observation.devices.push_back(tests::sampleOf(tests::migFacts(4)));
    ledger.observed(observation);
    EXPECT_EQ(see().devices, "GPU-1");
    haveGpus(4);
    EXPECT_EQ(see().devices, "1");
    EXPECT_TRUE(see().sentences.empty());
}

TEST_F(ShellFilesTest, CostOneLineInTheLogWhereTheyCannotBeWritten) {
    std::filesystem::remove_all(folder.path() / "shell");
    folder.write("shell", "a file in the folder's place");
    begin();
    activate("7", alice);
    attachCount("7", 2);
    ledger.deactivate("7", tests::root);
    EXPECT_EQ(log.lines.size(), 1U);
    EXPECT_NE(log.lines.front().find("could not be written"), std::string::npos);

    std::filesystem::remove(folder.path() / "shell");
    activate("8", alice);
    EXPECT_EQ(see("_38").devices, "-1") << "it works again once it can";
}

} // namespace
} // namespace genv::service
