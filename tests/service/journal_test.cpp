// SPDX-License-Identifier: LGPL-2.1-or-later
// Records: foreign texts cannot break them, they keep their order while names are looked up, a
// flood of refusals is bounded, and records that the log does not accept are counted. The record
// for each event is tested with the real journal (tests/service/journal-test).
#include "service/journal/event_log.hpp"
#include "service/journal/logger.hpp"
#include "service/journal/refusal_log.hpp"
#include "service/journal/sender.hpp"
#include "tests/core/ledger_fixture.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <set>
#include <sstream>

namespace genv::tests {
namespace {

namespace field = service::journal::field;
using service::journal::kindOf;
using service::journal::Record;

class FakeSink : public service::journal::Sink {
  public:
    void write(Record record) override { records.push_back(std::move(record)); }
    [[nodiscard]] bool takesFields() const override { return fields; }

    [[nodiscard]] std::vector<std::string> lines() const {
        std::vector<std::string> result;
        for (const Record& record : records)
            result.push_back(record.line());
        return result;
    }
    std::vector<Record> records;
    bool fields = true;
};

std::string valueOf(const Record& record, std::string_view name) {
    std::string value = "(none)";
    for (const auto& [known, text] : record.fields()) {
        if (known == name) {
            EXPECT_EQ(value, "(none)") << name << " stands there twice";
            value = text;
        }
    }
    return value;
}

Record plain(const std::string& line) {
    return {kindOf("attached"), core::Severity::Info, line};
}

using LineList = std::vector<std::string>;

TEST(JournalContract, HasEveryIdAndNameOnce) {
    std::set<std::string_view> ids;
    std::set<std::string_view> names;
    for (const auto& kind : service::journal::kinds) {
        EXPECT_EQ(kind.messageId.size(), 32U);
        EXPECT_EQ(kind.messageId.find_first_not_of("0123456789abcdef"), std::string_view::npos);
        ids.insert(kind.messageId);
        names.insert(kind.name);
    }
    EXPECT_EQ(ids.size(), service::journal::kinds.size());
    EXPECT_EQ(names.size(), service::journal::kinds.size());
}

TEST(JournalRecord, EscapesWhatIsNotPrintable) {
    Record record(kindOf("refused"), core::Severity::Notice, "a line");
    record.add(field::environmentName, "x\nGENV_UID=0\x1b[2J\xff");
    record.add(field::user, R"(a "name" \ as it is)");
    record.add(field::deviceUuid, LineList{"GPU-1,GPU-2", "GPU-3"});
    record.add(field::settings, LineList{"User.a b.MaxDevicesPerUser=1", "Interval=5s"}, ' ');
    record.add(field::device, LineList{});
    EXPECT_EQ(valueOf(record, field::messageId), "547b887bd5884166b4bb2e35993e31d3");
    EXPECT_EQ(valueOf(record, field::event), "refused");
    EXPECT_EQ(valueOf(record, field::environmentName), R"(x\x0aGENV_UID=0\x1b[2J\xff)");
    EXPECT_EQ(valueOf(record, field::user), R"(a "name" \ as it is)");
    EXPECT_EQ(valueOf(record, field::deviceUuid), R"(GPU-1\x2cGPU-2,GPU-3)");
    EXPECT_EQ(valueOf(record, field::settings), R"(User.a\x20b.MaxDevicesPerUser=1 Interval=5s)");
    EXPECT_EQ(valueOf(record, field::device), "(none)") << "an empty list says nothing";
    EXPECT_LT(valueOf(record.add(field::reason, std::string(100'000, 'x')), field::reason).size(),
              2'000U);
}

class JournalQueue : public ::testing::Test {
  protected:
    JournalQueue() {
        users.add(alice, "alice");
        users.add(root, "root");
    }
    FakeUsers users;
    FakeSink sink;
};

TEST_F(JournalQueue, NamesWhoItIsAboutAndWhoDidIt) {
    service::journal::RecordQueue queue(users, sink);
    queue.push(plain("a"), alice, root);
    queue.push(plain("b"), bob, std::nullopt);
    ASSERT_EQ(sink.lines(), (LineList{"a", "b"}));
    EXPECT_EQ(valueOf(sink.records[0], field::uid), "1001");
    EXPECT_EQ(valueOf(sink.records[0], field::user), "alice");
    EXPECT_EQ(valueOf(sink.records[0], field::callerUid), "0");
    EXPECT_EQ(valueOf(sink.records[0], field::callerUser), "root");
    EXPECT_EQ(valueOf(sink.records[1], field::user), "1002") << "who has no name";
    EXPECT_EQ(valueOf(sink.records[1], field::callerUser), "(none)");
}

TEST_F(JournalQueue, NamesWhoLoggedInBeforeActingAsRoot) {
    service::journal::RecordQueue queue(users, sink);
    queue.push(plain("a"), bob, core::Actor{root, alice});
    queue.push(plain("b"), bob, core::Actor{root});
    ASSERT_EQ(sink.lines(), (LineList{"a", "b"}));
    EXPECT_EQ(valueOf(sink.records[0], field::callerUser), "root");
    EXPECT_EQ(valueOf(sink.records[0], field::callerLogin), "1001");
    EXPECT_EQ(valueOf(sink.records[0], field::callerLoginUser), "alice");
    EXPECT_EQ(valueOf(sink.records[1], field::callerLogin), "(none)");
}

TEST_F(JournalQueue, KeepsTheOrderOfEventsWhileNamesAreLookedUp) {
    service::journal::RecordQueue queue(users, sink);
    users.slow = true;
    queue.push(plain("a"), alice, std::nullopt);
    users.slow = false;
    queue.push(plain("b"), root, root);
    queue.push(plain("c"), std::nullopt, std::nullopt);
    EXPECT_EQ(sink.lines(), LineList{});
    users.later();
    EXPECT_EQ(sink.lines(), (LineList{"a", "b", "c"}));
}

TEST_F(JournalQueue, LetsTheFirstGoWithoutItsNameWhenTooManyWait) {
    service::journal::RecordQueue queue(users, sink);
    users.slow = true;
    for (std::size_t i = 0; i < queue.maxWaiting; ++i)
        queue.push(plain(std::to_string(i)), alice, std::nullopt);
    EXPECT_TRUE(sink.records.empty());
    queue.push(plain("last"), alice, std::nullopt);
    ASSERT_EQ(sink.lines(), LineList{"0"});
    EXPECT_EQ(valueOf(sink.records[0], field::user), "1001");
    users.later(); // the first answer is too late and has no effect
    ASSERT_EQ(sink.records.size(), queue.maxWaiting + 1);
    EXPECT_EQ(sink.lines().back(), "last");
    EXPECT_EQ(valueOf(sink.records[1], field::user), "alice");
}

TEST_F(JournalQueue, WritesAtItsEndWhatStillWaits) {
    users.slow = true;
    {
        service::journal::RecordQueue queue(users, sink);
        queue.push(plain("a"), alice, root);
    }
    ASSERT_EQ(sink.lines(), LineList{"a"});
    EXPECT_EQ(valueOf(sink.records[0], field::user), "1001");
    users.later(); // and its receiver no longer exists
}

TEST_F(JournalQueue, NamesPeopleInTheLine) {
    users.add(alice, "alice");
    service::journal::RecordQueue queue(users, sink);
    queue.push(plain("a thing of uid 1001, uid 10011 and uid 1002 (by uid 1001)"), alice,
               std::nullopt);
    EXPECT_EQ(sink.lines(),
              LineList{"a thing of alice (1001), uid 10011 and uid 1002 (by alice (1001))"});
}

TEST_F(JournalQueue, AsksForNoNamesWhereOnlyLinesAreWritten) {
    sink.fields = false;
    users.slow = true;
    service::journal::RecordQueue queue(users, sink);
    queue.push(plain("a"), alice, root);
    EXPECT_EQ(sink.lines(), LineList{"a"});
}

class JournalRefusals : public LedgerTest {
  protected:
    static dbus::Refusal refusalOf(std::optional<core::Actor> caller, core::ErrorCode code,
                                   const policy::Target& target = {}) {
        return {policy::rowOf("dev.genv.Manager", "Enforce"),
                ":1.5",
                caller,
                code,
                "some.Error",
                "why",
                target,
                policy::Action::Enforce};
    }
    void refuse(std::optional<core::Actor> caller, core::ErrorCode code,
                const policy::Target& target = {}) {
        refusals.refused(refusalOf(caller, code, target));
    }

    FakeUsers users;
    FakeSink sink;
    FakeScheduler scheduler;
    SilentLog log;
    service::journal::RecordQueue queue{users, sink};
    service::journal::NamedLines lines{users, log, true};
    service::journal::RefusalLog refusals{ledger, scheduler, lines, queue};
};

TEST_F(JournalRefusals, OfAReloadAreLoggedByTheServiceAlone) {
    refusals.refused({policy::rowOf("dev.genv.Manager", "Reload"),
                      ":1.5",
                      core::Actor{0},
                      core::ErrorCode::InvalidArgs,
                      "some.Error",
                      "genvd.conf:3: why",
                      {},
                      std::nullopt});
    EXPECT_TRUE(log.lines.empty());
    refusals.refused({policy::rowOf("dev.genv.Manager", "Reload"),
                      ":1.5",
                      alice,
                      core::ErrorCode::AccessDenied,
                      "some.Error",
                      "why",
                      {},
                      policy::Action::Configure});
    EXPECT_EQ(sink.records.size(), 1U) << "of who may not";
}

TEST_F(JournalRefusals, AreRecordsWhereSomebodyWasNotAllowed) {
    for (const auto code : {core::ErrorCode::AccessDenied, core::ErrorCode::QuotaExceeded,
                            core::ErrorCode::LimitsExceeded})
        refuse(alice, code);
    EXPECT_EQ(sink.records.size(), 3U);
    EXPECT_TRUE(log.lines.empty());
    refuse(alice, core::ErrorCode::InvalidArgs);
    refuse(std::nullopt, core::ErrorCode::NoSuchDevice);
    EXPECT_EQ(sink.records.size(), 3U);
    EXPECT_EQ(log.lines, (LineList{"refused dev.genv.Manager.Enforce from uid 1001 (:1.5): "
                                   "some.Error: why",
                                   "refused dev.genv.Manager.Enforce from :1.5: some.Error: why"}));
}

// genvctl asks for the environment of its process each time that it starts one.
TEST_F(JournalRefusals, AreNoAnswersToQuestions) {
    using core::ErrorCode;
    const auto answer = [this](const char* interface, const char* member, ErrorCode code) {
        refusals.refused({policy::rowOf(interface, member),
                          ":1.5",
                          alice,
                          code,
                          "some.Error",
                          "why",
                          {},
                          std::nullopt});
    };
    const std::pair<const char*, ErrorCode> questions[] = {
        {"GetEnvironmentByPID", ErrorCode::NoSuchEnvironment},
        {"GetEnvironmentByPID", ErrorCode::NoSuchProcess},
        {"GetEnvironment", ErrorCode::NoSuchEnvironment},
        {"GetDevice", ErrorCode::NoSuchDevice},
        {"ListEvents", ErrorCode::NotSupported},
        {"ListRefusedOpens", ErrorCode::NotSupported},
        {"TerminateProcess", ErrorCode::NoSuchProcess},
        {"CancelWait", ErrorCode::NoSuchWait}};
    for (const auto& [member, code] : questions)
        answer("dev.genv.Manager", member, code);
    for (const char* member : {"RemoveProcess", "RemoveKernel", "RemoveProcessByPIDFD"})
        answer("dev.genv.Environment", member, ErrorCode::NoSuchProcess);
    EXPECT_TRUE(log.lines.empty()) << log.lines.front();
    EXPECT_TRUE(sink.records.empty());

    answer("dev.genv.Manager", "GetEnvironmentByPID", ErrorCode::Timeout);
    answer("dev.genv.Manager", "GetEnvironmentByPID", ErrorCode::InvalidArgs);
    answer("dev.genv.Environment", "Lock", ErrorCode::NotAttached);
    EXPECT_EQ(log.lines.size(), 3U);
}

TEST_F(JournalRefusals, NameWhatTheyAreAboutWhereThatIsKnown) {
    haveGpus(2);
    activate("20", bob);
    policy::Target target;
    target.environment = "20";
    target.devices = {1, 7};
    refuse(alice, core::ErrorCode::AccessDenied, target);
    target.environment = "no-such";
    refuse(alice, core::ErrorCode::AccessDenied, target);
    ASSERT_EQ(sink.records.size(), 2U);
    const Record& record = sink.records[0];
    EXPECT_EQ(valueOf(record, field::environment), "20");
    EXPECT_EQ(valueOf(record, field::uid), "1002");
    EXPECT_EQ(valueOf(record, field::callerUid), "1001");
    EXPECT_EQ(valueOf(record, field::device), "1");
    EXPECT_EQ(valueOf(record, field::deviceUuid), "GPU-1");
    EXPECT_EQ(valueOf(record, field::method), "dev.genv.Manager.Enforce");
    EXPECT_EQ(valueOf(record, field::action), "dev.genv.manager.enforce");
    EXPECT_EQ(valueOf(record, field::error), "some.Error");
    EXPECT_EQ(valueOf(sink.records[1], field::environment), "(none)");
}

TEST_F(JournalRefusals, OfRootNameWhoLoggedIn) {
    users.add(alice, "alice");
    users.add(root, "root");
    refuse(core::Actor{root, alice}, core::ErrorCode::LimitsExceeded);
    refuse(root, core::ErrorCode::LimitsExceeded);
    ASSERT_EQ(sink.records.size(), 2U);
    EXPECT_EQ(valueOf(sink.records[0], field::callerUid), "0");
    EXPECT_EQ(valueOf(sink.records[0], field::callerLogin), "1001");
    EXPECT_EQ(valueOf(sink.records[0], field::callerLoginUser), "alice");
    EXPECT_EQ(sink.records[0].line(),
              "refused dev.genv.Manager.Enforce from root (0) (:1.5), logged in as alice (1001): "
              "some.Error: why");
    EXPECT_EQ(valueOf(sink.records[1], field::callerLogin), "(none)");
    refuse(core::Actor{root, alice}, core::ErrorCode::NoSuchDevice);
    EXPECT_EQ(log.lines,
              LineList{"refused dev.genv.Manager.Enforce from root (0) (:1.5), logged in "
                       "as alice (1001): some.Error: why"});
}

TEST_F(JournalRefusals, ForWantOfAPasswordAreRecordsUnlessTheCallIsMadeAgain) {
    const auto& method = policy::rowOf("dev.genv.Manager", "Enforce");
    const auto required = core::ErrorCode::InteractiveAuthorizationRequired;
    refuse(alice, required);
    EXPECT_TRUE(sink.records.empty());
    refusals.mayAsk(":1.6", method); // another caller
    scheduler.pass(refusals.retryTime);
    EXPECT_EQ(sink.records.size(), 1U);

    refuse(alice, required);
    refusals.mayAsk(":1.5", method);
    scheduler.pass(refusals.retryTime);
    EXPECT_EQ(sink.records.size(), 1U) << "what became of it is told where it is known";
    refuse(alice, core::ErrorCode::AccessDenied);
    EXPECT_EQ(sink.records.size(), 2U);

    refuse(alice, required);
    refuse(alice, required);
    EXPECT_EQ(sink.records.size(), 3U) << "each of several";
    refusals.onDisconnected(":1.50");
    EXPECT_EQ(sink.records.size(), 3U);
    refusals.onDisconnected(":1.5");
    EXPECT_EQ(sink.records.size(), 4U);
}

TEST_F(JournalRefusals, OfAFloodAreCountedAndTheOthersAreStillListed) {
    for (std::size_t i = 0; i < refusals.maxPerWindow + 1'000; ++i)
        refuse(alice, i % 2 == 0 ? core::ErrorCode::AccessDenied : core::ErrorCode::InvalidArgs);
    EXPECT_EQ(sink.records.size() + log.lines.size(), refusals.maxPerWindow);
    refuse(bob, core::ErrorCode::AccessDenied);
    EXPECT_EQ(valueOf(sink.records.back(), field::callerUid), "1002");
    log.lines.clear();
    scheduler.pass(refusals.window);
    EXPECT_EQ(log.lines, LineList{"1000 more calls of uid 1001 were refused and not listed"});
    refuse(alice, core::ErrorCode::AccessDenied);
    EXPECT_EQ(valueOf(sink.records.back(), field::callerUid), "1001");
    scheduler.pass(refusals.window);
    EXPECT_EQ(log.lines.size(), 1U);
}

TEST_F(JournalRefusals, OfAFloodAreCountedWhenTheServiceStops) {
    {
        service::journal::RefusalLog stopping(ledger, scheduler, lines, queue);
        for (std::size_t i = 0; i < stopping.maxPerWindow + 3; ++i)
            stopping.refused(refusalOf(alice, core::ErrorCode::AccessDenied));
        EXPECT_TRUE(log.lines.empty());
    }
    EXPECT_EQ(log.lines, LineList{"3 more calls of uid 1001 were refused and not listed"});
}

class JournalEvents : public LedgerTest {
  protected:
    JournalEvents() {
        haveGpus(2);
        events.subscribe([this](const core::Event& event) { eventLog.onEvent(event); });
    }
    LineList kinds() {
        LineList result;
        for (const Record& record : std::exchange(sink.records, {}))
            result.push_back(valueOf(record, field::event) + " " + valueOf(record, field::device));
        return result;
    }

    FakeUsers users;
    FakeSink sink;
    service::journal::RecordQueue queue{users, sink};
    service::EventLog eventLog{ledger, clock, queue};
};

TEST_F(JournalEvents, TellWhyAnEnvironmentWasParkedUnlessTheCallerIsNamed) {
    users.add(alice, "alice");
    activate("10", alice);
    sink.records.clear();
    core::EnvironmentParked parked;
    parked.environment = "10";
    parked.owner = alice;
    parked.devices = {ledger.device(0).facts};
    parked.memory = gigabytes(8);
    parked.took = std::chrono::seconds{6};
    parked.reason = core::Reason::expired().text();
    eventLog.onEvent(parked);
    parked.reason = core::Reason::admin().text();
    eventLog.onEvent(parked);
    EXPECT_EQ(
        sink.lines(),
        (LineList{"environment 10 of alice (1001) was parked because its lease ended in 6s: 8 GB "
                  "moved to host memory, and GPU 0 is free (reason expired)",
                  "environment 10 of alice (1001) was parked in 6s: 8 GB moved to host memory, and "
                  "GPU 0 is free (reason admin)"}));
}

TEST_F(JournalEvents, TellWhichEnvironmentEndsForBeingParkedTooLong) {
    activate("10", alice);
    sink.records.clear();
    eventLog.onEvent(core::ParkedTooLong{"10", alice, std::chrono::minutes{10}});
    ASSERT_EQ(sink.records.size(), 1U);
    EXPECT_EQ(valueOf(sink.records[0], field::environment), "10");
    EXPECT_EQ(valueOf(sink.records[0], field::left), "600000000");
}

TEST_F(JournalEvents, TellHowLongAnAttachmentWasHeld) {
    core::EnvironmentConfiguration configuration;
    configuration.name = "training";
    activate("20", bob, configuration);
    attachCount("20", 1);
    clock.pass(std::chrono::minutes{2});
    ledger.end("20", {core::Reason::rule("max-lifetime"), 0});
    ASSERT_EQ(sink.records.size(), 4U);
    const Record& detached = sink.records[2];
    EXPECT_EQ(valueOf(detached, field::event), "detached");
    EXPECT_EQ(valueOf(detached, field::held), "120000000");
    EXPECT_EQ(valueOf(detached, field::reason), "rule:max-lifetime");
    EXPECT_EQ(valueOf(detached, field::rule), "max-lifetime");
    EXPECT_EQ(valueOf(sink.records[3], field::event), "environment-ended");
    EXPECT_EQ(valueOf(sink.records[3], field::environmentName), "training");
}

TEST_F(JournalEvents, TellOfEveryEnvironmentThatLostSomethingWhileTheServiceWasAway) {
    activate("10", alice);
    attachIndices("10", {0});
    activate("20", bob);
    attachIndices("20", {1});
    sink.records.clear();
    core::RecoveryReport report;
    for (const char* id : {"10", "20"}) {
        const core::EnvironmentRecord& former = ledger.get(id);
        report.endedMeanwhile.push_back(
            {former, former.attachments, former.uid == bob, core::Reason::expired()});
    }
    eventLog.recovered(report);
    EXPECT_EQ(kinds(), (LineList{"detached 0", "detached 1", "environment-ended (none)"}));
}

TEST_F(JournalEvents, TellOfDevicesOnlyWhatIsNews) {
    core::Observation more = gpus(3);
    more.devices[0].health = {core::Health::State::Xid, 79};
    ledger.observed(more);
    EXPECT_EQ(kinds(), LineList{"device-health 0"}) << "at start: that one is not well";
    eventLog.devicesAreKnown();
    ledger.observed(gpus(2));
    EXPECT_EQ(kinds(), (LineList{"device-removed 2", "device-health 0"}));
    ledger.observed(gpus(3));
    EXPECT_EQ(kinds(), LineList{"device-added 2"});
    ledger.driverFailed();
    EXPECT_EQ(kinds(), (LineList{"device-health 0", "device-health 1", "device-health 2"}));
}

TEST_F(JournalEvents, TellOfDevicesThatMovedBeforeTheStart) {
    core::Observation moved = gpus(2);
    moved.devices[1].facts.index = 2;
    ledger.observed(moved);
    EXPECT_EQ(kinds(), (LineList{"device-removed 1", "device-added 2"}));
}

TEST_F(JournalEvents, TellOfRefusedOpensByWhomAndHowOften) {
    users.add(alice, "alice");
    users.add(bob, "bob");
    const core::DeviceFacts device = ledger.device(1).facts;
    eventLog.onEvent(core::AccessRefused{alice, device, 3, 4711, "python3", true});
    eventLog.onEvent(core::AccessRefused{bob, device, 1, 9, "", false});
    EXPECT_EQ(sink.lines(),
              (LineList{"the kernel refused 3 attempts of alice (1001) to open GPU 1, last by "
                        "process 4711 (python3)",
                        "the kernel would have refused 1 attempt of bob (1002) to open GPU 1, last "
                        "by process 9"}));
    EXPECT_EQ(valueOf(sink.records[0], field::count), "3");
    EXPECT_EQ(valueOf(sink.records[0], field::pid), "4711");
    EXPECT_EQ(valueOf(sink.records[0], field::command), "python3");
}

TEST_F(JournalEvents, TellOfRefusedOpensWithoutAProcessWhereTheKernelDoesNotTellIt) {
    users.add(bob, "bob");
    eventLog.onEvent(core::AccessRefused{bob, ledger.device(0).facts, 2, 0, "", true});
    EXPECT_EQ(sink.lines(), LineList{"the kernel refused 2 attempts of bob (1002) to open GPU 0"});
    EXPECT_EQ(valueOf(sink.records[0], field::pid), "(none)");
    EXPECT_EQ(valueOf(sink.records[0], field::command), "(none)");
}

/// Standard error is a pipe that is not read until take() is called.
class JournalLogger : public ::testing::Test {
  protected:
    JournalLogger() {
        saved_ = ::dup(STDERR_FILENO);
        EXPECT_EQ(::pipe2(pipe_, O_CLOEXEC), 0);
        ::dup2(pipe_[1], STDERR_FILENO);
        ::close(pipe_[1]);
    }
    ~JournalLogger() override {
        ::unsetenv("JOURNAL_STREAM");
        ::close(saved_);
        ::close(pipe_[0]);
    }
    /// Returns everything that was written until the end of the logger.
    std::string finish(std::optional<service::Logger>& log) {
        auto all = std::async(std::launch::async, [fd = pipe_[0]] {
            std::string text;
            char buffer[65536];
            for (ssize_t n = 0; (n = ::read(fd, buffer, sizeof(buffer))) > 0;)
                text.append(buffer, static_cast<std::size_t>(n));
            return text;
        });
        log.reset();
        ::dup2(saved_, STDERR_FILENO); // closes the pipe's last write end
        return all.get();
    }

  private:
    int saved_ = -1;
    int pipe_[2]{};
};

TEST_F(JournalLogger, CountsWhatTheLogDoesNotTake) {
    std::optional<service::Logger> log(std::in_place);
    const std::string line(1'000, 'x'); // a hundred fill the pipe
    const std::size_t total = 3 * service::Logger::maxQueued;
    for (std::size_t i = 0; i < total; ++i)
        log->info("{}", line);
    std::size_t written = 0;
    std::size_t dropped = 0;
    std::istringstream lines(finish(log));
    for (std::string each; std::getline(lines, each);) {
        std::size_t count = 0; // reported as often as the writer finds the queue full
        if (std::sscanf(each.c_str(), "genvd: %zu lines and records were dropped", &count) == 1)
            dropped += count;
        else
            written += each == "genvd: " + line ? 1U : 0U;
    }
    EXPECT_GE(written, service::Logger::maxQueued);
    EXPECT_GT(dropped, 0U);
    EXPECT_EQ(written + dropped, total);
}

TEST_F(JournalLogger, WritesRecordsAsLinesWhereStandardErrorIsNotTheJournal) {
    ::setenv("JOURNAL_STREAM", "1:2", 1); // inherited, and wrong by now
    std::optional<service::Logger> log(std::in_place);
    EXPECT_FALSE(log->takesFields());
    static_cast<service::journal::Sink&>(*log).write(plain("a record"));
    log->warning("a line");
    EXPECT_EQ(finish(log), "genvd: a record\ngenvd: a line\n");
}

TEST(JournalLoggerWithoutRoom, DropsLinesAndEnds) {
    const auto log = [] {
        ::alarm(20); // ends this process if the logger does not
        ::dup2(::open("/dev/full", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
        {
            service::Logger logger;
            logger.warning("a line");
        }
        ::_exit(0);
    };
    EXPECT_EXIT(log(), ::testing::ExitedWithCode(0), "");
}

TEST_F(JournalLogger, KnowsTheJournalByTheDescriptor) {
    struct stat status {};
    ASSERT_EQ(::fstat(STDERR_FILENO, &status), 0);
    ::setenv("JOURNAL_STREAM", fmt::format("{}:{}", status.st_dev, status.st_ino).c_str(), 1);
    EXPECT_TRUE(service::journal::isJournal(STDERR_FILENO));
    EXPECT_FALSE(service::journal::isJournal(STDOUT_FILENO));
    EXPECT_FALSE(service::journal::isJournal(-1));
    std::optional<service::Logger> log(std::in_place);
    log->warning("a line");
    EXPECT_EQ(finish(log), "<4>a line\n");
}

} // namespace
} // namespace genv::tests
