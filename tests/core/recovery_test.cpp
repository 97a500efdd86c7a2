// SPDX-License-Identifier: LGPL-2.1-or-later
// A restarted service restores its state, whatever happened to its documents, and grants no device
// twice.
#include "core/ledger/recovery.hpp"
#include "core/state/state_schema.hpp"
#include "tests/core/ledger_fixture.hpp"

#include <nlohmann/json.hpp>

namespace genv::tests {
namespace {

using Indices = std::vector<core::DeviceIndex>;
using nlohmann::json;

class Recovery : public LedgerTest {
  protected:
    struct Restarted {
        core::EventHub events;
        core::Ledger ledger;
        core::RecoveryReport report;
        Restarted(core::Store& store, const core::Clock& clock, core::Processes& processes)
            : ledger(store, clock, events),
              report(core::recover(ledger, store, processes, clock.bootNow())) {}
    };
    std::unique_ptr<Restarted> restart() {
        return std::make_unique<Restarted>(store, clock, processes);
    }

    void change(const std::string& id, const std::function<void(json&)>& edit) {
        json document = json::parse(store.documents.at(id));
        edit(document);
        store.documents.at(id) = document.dump();
    }
};

TEST_F(Recovery, BringsBackEnvironmentsAttachmentsAndTheirOrder) {
    haveGpus(4);
    for (const char* id : {"30", "10", "20"})
        activate(id, alice, {"n\xc3\xa4me", 2, gigabytes(4)});
    attachIndices("10", {3});
    attachIndices("30", {0, 1});
    const auto again = restart();
    EXPECT_EQ(again->report.restored, 3U);
    std::vector<std::string> order;
    for (const auto& [sequence, environment] : again->ledger.environments()) {
        order.push_back(environment.id);
        EXPECT_EQ(environment, ledger.get(environment.id));
    }
    EXPECT_EQ(order, (std::vector<std::string>{"30", "10", "20"}));
}

TEST_F(Recovery, WritesOnlyWhatIsOtherwiseThanItWas) {
    haveGpus(2);
    activate("10", alice);
    activate("20", bob);
    change("20", [](json& document) { document.erase("began"); });
    const std::string untouched = store.documents.at("10");
    store.writesUntilFailure = 0;
    restart();
    EXPECT_EQ(store.failures, 1) << "that of 20, which an earlier version wrote";
    EXPECT_EQ(store.documents.at("10"), untouched);
}

TEST_F(Recovery, GivesNoSequenceTwice) {
    haveGpus(2);
    activate("10", alice);
    attachCount("10", 1);
    const auto again = restart();
    again->ledger.observed(gpus(2));
    again->ledger.activate(newEnvironment("20", bob, 20), std::nullopt, bob);
    EXPECT_GT(again->ledger.get("20").sequence, ledger.get("10").attachments[0].sequence);
}

TEST_F(Recovery, GivesNoNumberTwiceHoweverLargeItIsInTheDocuments) {
    haveGpus(1);
    activate("10", alice);
    ledger.attach("10", core::PlannedWait{{core::CountWanted{2}, {}, {}, false}, {}}, alice);
    attachCount("10", 1);
    ledger.lock("10", ledger.newTicket());
    ledger.waitForLock("10", {ledger.newTicket(), alice});
    const std::string before = store.documents.at("10");
    constexpr std::uint64_t large = 1ULL << 40U;
    for (const char* place : {"/sequence", "/attachments/0/sequence", "/waits/0/ticket",
                              "/locks/0/number", "/lock_waits/0/ticket"}) {
        store.documents.at("10") = before;
        change("10", [&](json& document) {
            document.at(json::json_pointer(place)); // throws without such a member
            document[json::json_pointer(place)] = large;
        });
        const auto again = restart();
        EXPECT_EQ(again->report.restored, 1U) << place;
        EXPECT_GT(again->ledger.newTicket(), large) << place;
    }
}

TEST_F(Recovery, KnowsWhatPeopleHoldBeforeTheDriverAnswers) {
    haveGpus(2);
    activate("10", alice);
    attachIndices("10", {1});
    const auto again = restart();
    EXPECT_EQ(core::toString(again->ledger.device(1).health), "stale");
    again->ledger.driverFailed();
    EXPECT_EQ(again->ledger.get("10").deviceIndices(), Indices{1});
    again->ledger.observed(gpus(2));
    EXPECT_EQ(again->ledger.get("10").deviceIndices(), Indices{1});
    EXPECT_EQ(core::toString(again->ledger.device(1).health), "ok");
    EXPECT_EQ(again->ledger.device(1).holders.size(), 1U);
}

TEST_F(Recovery, EndsEnvironmentsWhoseProcessesAreGone) {
    haveGpus(1);
    activate("10", alice);
    activate("20", bob);
    attachCount("10", 1);
    FakeProcesses others; // the machine after the restart
    others.add(20, bob);
    core::EventHub hub;
    core::Ledger again(store, clock, hub);
    const auto report = core::recover(again, store, others, clock.bootNow());
    EXPECT_EQ(report.restored, 1U);
    EXPECT_EQ(report.ended, 1U);
    ASSERT_EQ(report.endedMeanwhile.size(), 1U);
    EXPECT_TRUE(report.endedMeanwhile[0].isOver);
    EXPECT_EQ(report.endedMeanwhile[0].reason, core::Reason::processExit());
    EXPECT_EQ(again.find("10"), nullptr);
    EXPECT_TRUE(again.devices().byIndex().empty()) << "nobody holds a device";
    EXPECT_FALSE(store.documents.contains("10"));
}

TEST_F(Recovery, DoesNotTakeARecycledPidForARootProcess) {
    activate("10", alice);
    processes.add(10, alice, 8); // the same PID, started later
    EXPECT_EQ(restart()->report.restored, 0U);
}

TEST_F(Recovery, SetsAsideWhatMakesNoSense) {
    activate("10", alice);
    const std::string good = store.documents.at("10");
    const std::vector<std::string> bad{
        "",
        "{",
        "null",
        "[]",
        "{}",
        "\"x\"",
        good.substr(0, good.size() / 2),
        good + "x",
        std::string(100000, '['),
        "{\"version\":1}",
        std::string("\xff\xfe"),
    };
    for (std::size_t i = 0; i < bad.size(); ++i)
        store.documents["bad" + std::to_string(i)] = bad[i];
    const auto again = restart();
    EXPECT_EQ(again->report.restored, 1U);
    EXPECT_EQ(store.aside.size(), bad.size());
}

TEST_F(Recovery, RefusesForgedFields) {
    const std::vector<std::pair<const char*, std::function<void(json&)>>> forgeries{
        {"another's name", [](json& d) { d["id"] = "11"; }},
        {"an id that is a path", [](json& d) { d["id"] = "../x"; }},
        {"a later version", [](json& d) { d["version"] = core::stateVersion + 1; }},
        {"version 0", [](json& d) { d["version"] = 0; }},
        {"no uid", [](json& d) { d.erase("uid"); }},
        {"a negative uid", [](json& d) { d["uid"] = -1; }},
        {"a huge uid", [](json& d) { d["uid"] = 1ULL << 40; }},
        {"pid 1", [](json& d) { d["processes"][0]["pid"] = 1; }},
        {"processes that are no list", [](json& d) { d["processes"] = "10"; }},
        {"a process that is no object", [](json& d) { d["processes"][0] = 10; }},
        {"a name with control characters", [](json& d) { d["configuration"]["name"] = "a\x1b"; }},
        {"an attachment of an unknown kind",
         [](json& d) {
             d["attachments"] = json::array({{{"device", "G"}, {"index", 0}, {"kind", "tpu"}}});
         }},
        {"a wait for nothing",
         [](json& d) {
             d["waits"] = json::array({{{"ticket", 3}, {"request", json::object()}}});
         }},
        {"a wait for an impossible index",
         [](json& d) {
             d["waits"] =
                 json::array({{{"ticket", 3}, {"request", {{"indices", json::array({-1})}}}}});
         }},
        {"waits that are no list", [](json& d) { d["waits"] = 7; }},
        {"a lock on a number",
         [](json& d) {
             d["locks"] = json::array({{{"number", 1}, {"devices", json::array({1})}}});
         }},
        {"a lease without an end",
         [](json& d) {
             d["lease"] = {{"granted", 1}};
         }},
        {"an endless number", [](json& d) { d["created"] = 1e300; }},
    };
    for (const auto& [what, forge] : forgeries) {
        store.documents.clear();
        processes.add(10, alice);
        core::EventHub hub;
        core::Ledger fresh(store, clock, hub);
        fresh.activate(newEnvironment("10", alice, 10), std::nullopt, alice);
        change("10", forge);
        const auto again = restart();
        EXPECT_EQ(again->report.restored, 0U) << what;
        EXPECT_EQ(again->report.setAside, 1U) << what;
    }
}

TEST_F(Recovery, GivesNoDeviceTwiceWhateverTheDocumentsSay) {
    haveGpus(2);
    activate("10", alice);
    activate("20", bob);
    attachIndices("10", {0});
    attachIndices("20", {1});
    change("20", [](json& d) {
        d["attachments"][0]["device"] = "GPU-0";
        d["attachments"][0]["index"] = 0;
    });
    const auto again = restart();
    EXPECT_EQ(again->report.conflicts.size(), 1U);
    EXPECT_EQ(again->ledger.get("10").deviceIndices(), Indices{0}) << "the earlier one keeps it";
    EXPECT_EQ(again->ledger.get("20").deviceIndices(), Indices{});
}

TEST_F(Recovery, AWholeDeviceIsSharedByNoDocumentThatSaysItIsLarger) {
    haveGpus(1);
    activate("10", alice);
    activate("20", bob);
    attachIndices("10", {0});
    store.documents["20"] = store.documents["10"];
    change("20", [&](json& document) {
        document["id"] = "20";
        document["uid"] = bob;
        document["sequence"] = 2;
        document["processes"][0]["pid"] = 20;
        document["attachments"][0]["sequence"] = 99;
        document["attachments"][0]["share"] = 1;
        document["attachments"][0]["total_memory"] = gigabytes(1000).count;
    });
    const auto again = restart();
    EXPECT_EQ(again->ledger.get("10").attachments.size(), 1U);
    EXPECT_TRUE(again->ledger.get("20").attachments.empty());
}

TEST_F(Recovery, AProcessKeepsOneEnvironmentAlive) {
    activate("10", alice);
    activate("20", alice);
    change("20", [](json& document) { document["processes"][0]["pid"] = 10; });
    const auto again = restart();
    EXPECT_NE(again->ledger.find("10"), nullptr);
    EXPECT_EQ(again->ledger.find("20"), nullptr);
    EXPECT_FALSE(store.documents.contains("20"));
    again->ledger.processExited({10, 7});
    EXPECT_TRUE(again->ledger.environments().empty());
}

TEST_F(Recovery, TwoEnvironmentsWithOneNumberAreTwo) {
    activate("10", alice);
    activate("20", bob);
    change("20", [&](json& document) { document["sequence"] = ledger.get("10").sequence; });
    const auto again = restart();
    EXPECT_EQ(again->ledger.environments().size(), 2U);
    again->ledger.processExited({10, 7});
    EXPECT_EQ(again->ledger.find("10"), nullptr);
    again->ledger.processExited({20, 7});
    EXPECT_TRUE(again->ledger.environments().empty());
    EXPECT_TRUE(store.documents.empty());
}

TEST_F(Recovery, KeepsSharesAndOverSubscriptionsAsTheyWere) {
    haveGpus(1);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    attachCount("10", 1, gigabytes(10));
    attachCount("20", 1, gigabytes(6));
    attachCount("30", 1, std::nullopt, true);
    const auto again = restart();
    EXPECT_TRUE(again->report.conflicts.empty());
    for (const char* id : {"10", "20", "30"})
        EXPECT_EQ(again->ledger.get(id), ledger.get(id));
}

TEST_F(Recovery, WritesNothingThatItDidNotHaveTo) {
    activate("10", alice);
    const auto before = store.documents;
    restart();
    EXPECT_EQ(store.documents, before);
}

TEST(StateSchema, ReadsWhatItWrites) {
    core::EnvironmentRecord environment;
    environment.id = "a.b:c@d-e_f";
    environment.uid = 4294967294U;
    environment.user = "user \xff\x01";
    environment.created = core::fromMicroseconds(1795256846023986);
    environment.createdSinceBoot = core::BootTime{std::chrono::microseconds{66}};
    environment.began = core::BootTime{std::chrono::microseconds{77}};
    environment.exempt = true;
    environment.sequence = 42;
    environment.configuration = {"\xf0\x9f\x8e\xb8", 3, gigabytes(4)};
    environment.processes = {{{10, 7}, nullptr}, {{4194304, 1ULL << 61}, nullptr}};
    environment.jupyterKernels = {{"k-1", {{11, 8}, nullptr}}};
    environment.attachments = {
        {migFacts(9),
         gigabytes(2),
         true,
         false,
         core::fromMicroseconds(5),
         6,
         core::Lease{core::BootTime{std::chrono::microseconds{1}},
                     core::BootTime{std::chrono::microseconds{2}}},
         {9, 11}},
        {gpuFacts(1), std::nullopt, false, true, core::fromMicroseconds(7), 8, std::nullopt}};
    environment.lease = core::Lease{core::BootTime{std::chrono::microseconds{3}},
                                    core::BootTime{std::chrono::microseconds{4}}};
    environment.waits = {{9,
                          {core::CountWanted{3, true}, "a100", gigabytes(1), true},
                          core::fromMicroseconds(8),
                          7,
                          true,
                          true,
                          true,
                          std::chrono::hours{2},
                          core::BootTime{std::chrono::microseconds{12}}},
                         {10,
                          {core::IndicesWanted{{4, 5}}, {}, {}, false},
                          core::fromMicroseconds(9),
                          0,
                          false,
                          false,
                          false,
                          std::nullopt},
                         {11,
                          {core::UuidsWanted{{"GPU-7"}}, {}, {}, false},
                          core::fromMicroseconds(9),
                          0,
                          false,
                          false,
                          false,
                          std::nullopt}};
    environment.locks = {{12, {"GPU-1", "GPU-2"}}};
    core::EnvironmentRecord read = core::decodeState(core::encodeState(environment));
    EXPECT_EQ(read.user, "user \xef\xbf\xbd\x01") << "what is no UTF-8 is replaced";
    read.user = environment.user;
    EXPECT_EQ(read, environment);
}

TEST(StateSchema, RefusesADeviceThatWasKeptForAnImpossibleRequest) {
    core::EnvironmentRecord environment;
    environment.id = "10";
    environment.attachments = {
        {gpuFacts(1), {}, false, false, core::fromMicroseconds(7), 8, std::nullopt, {9}}};
    json document = json::parse(core::encodeState(environment));
    EXPECT_NO_THROW(core::decodeState(document.dump()));
    for (const json& ticket : std::vector<json>{-1, "9", std::uint64_t{1} << 63U}) {
        document["attachments"][0]["kept_for"] = json::array({ticket});
        EXPECT_THROW(core::decodeState(document.dump()), core::StateError) << ticket;
    }
}

TEST(StateSchema, ReadsWhatItWritesOfParkedEnvironmentsAndTakings) {
    const auto at = [](int moment) { return core::BootTime{std::chrono::microseconds{moment}}; };
    core::EnvironmentRecord environment;
    environment.id = "10";
    environment.uid = alice;
    environment.user = "alice";
    environment.began = at(77);
    environment.sequence = 42;
    environment.parkingProblem = "the driver refused it";
    environment.configuration.preemptible = core::Preemptible::Park;
    environment.loanFailed = true;
    core::Parking parking;
    parking.step = core::ParkingStep::Parked;
    parking.reason = "taken";
    parking.actor = alice;
    parking.since = core::fromMicroseconds(6);
    parking.began = at(7);
    parking.processes = {{{500, 7}, "python3", {1, 2, 3, 4}, {{"GPU-1", gigabytes(8)}}}};
    parking.devices = {{gpuFacts(1), gigabytes(4), true, true, core::Lease{at(1), at(9)}}};
    parking.lease = core::Lease{at(2), at(8)};
    parking.taker = core::Taker{13, "20", bob, "bob"};
    environment.parking = parking;
    core::Wait wait;
    wait.ticket = 9;
    wait.request = {core::CountWanted{1}, {}, {}, false};
    wait.since = core::fromMicroseconds(8);
    wait.actor = bob;
    wait.began = at(8);
    wait.priority = -3;
    wait.overtakings = 2;
    wait.firstSince = at(10);
    wait.holdForQuota = true;
    wait.heldSince = at(11);
    wait.heldFor = std::chrono::microseconds{12};
    wait.resumes = true;
    wait.takesOnly = true;
    wait.taking = core::PendingTaking{{"30", "40"},
                                      {"GPU-2", "GPU-3"},
                                      core::fromMicroseconds(5),
                                      at(13),
                                      std::chrono::milliseconds{14},
                                      at(15)};
    environment.waits = {wait};
    EXPECT_EQ(core::decodeState(core::encodeState(environment)), environment);
}

TEST_F(Recovery, TakesAnEnvironmentThatDoesNotSayWhenItBeganForNew) {
    activate("10", alice);
    change("10", [](json& d) { d.erase("began"); });
    const auto again = restart();
    EXPECT_EQ(again->ledger.get("10").began, clock.bootNow());
}

TEST_F(Recovery, EndsWhatALeaseEndedMeanwhile) {
    haveGpus(2);
    core::NewEnvironment leased = newEnvironment("10", alice, 10);
    leased.lifetime = std::chrono::hours{1};
    ledger.activate(std::move(leased), std::nullopt, alice);
    activate("20", bob);
    ledger.attach("20", planned("20", {core::IndicesWanted{{0}}, {}, {}, false}), bob,
                  {false, std::chrono::hours{1}});
    attachIndices("20", {1});
    clock.pass(std::chrono::minutes{59});
    EXPECT_EQ(restart()->report.expired.size(), 0U);
    clock.pass(std::chrono::minutes{1});
    clock.wall -= std::chrono::hours{5}; // the clock is set back, which moves no lease
    const auto again = restart();
    ASSERT_EQ(again->report.expired.size(), 2U);
    EXPECT_EQ(again->report.expired[0].environment, "10");
    EXPECT_FALSE(again->report.expired[0].device) << "all of it";
    EXPECT_EQ(again->report.expired[1].environment, "20");
    EXPECT_EQ(again->report.expired[1].device, 0U);
    ASSERT_EQ(again->report.endedMeanwhile.size(), 2U);
    EXPECT_TRUE(again->report.endedMeanwhile[0].isOver);
    EXPECT_FALSE(again->report.endedMeanwhile[1].isOver);
    EXPECT_EQ(again->report.endedMeanwhile[1].attachments.size(), 1U);
    EXPECT_EQ(again->ledger.find("10"), nullptr);
    EXPECT_EQ(again->ledger.get("20").deviceIndices(), Indices{1});
    EXPECT_FALSE(store.documents.contains("10"));
}

TEST_F(Recovery, GivesEachWaitAndLockItsOwnNumber) {
    haveGpus(2);
    activate("10", alice);
    activate("20", bob);
    const core::AttachRequest request{core::CountWanted{2}, {}, {}, false};
    for (const char* id : {"10", "20"}) {
        attachIndices(id, {std::string(id) == "10" ? 0U : 1U});
        ledger.lock(id, ledger.newTicket());
        const core::Placement expected = planned(id, {core::CountWanted{2}, {}, {}, true});
        ledger.attach(id, core::PlannedWait{request, expected}, ledger.get(id).uid);
    }
    for (const char* part : {"waits", "locks"}) {
        const std::string number = std::string(part) == "waits" ? "ticket" : "number";
        change("20", [&](json& d) {
            d[part][0][number] = json::parse(store.documents.at("10"))[part][0][number];
        });
    }
    const auto again = restart();
    EXPECT_EQ(again->ledger.waits().size(), 1U);
    EXPECT_EQ(again->ledger.locks().size(), 1U);
    EXPECT_EQ(again->ledger.get("10"), ledger.get("10"));
    EXPECT_TRUE(again->ledger.get("20").waits.empty());
    EXPECT_TRUE(again->ledger.get("20").locks.empty());
}

} // namespace
} // namespace genv::tests
