// SPDX-License-Identifier: LGPL-2.1-or-later
// Environments within others are restored after a restart, without devices that their parents do
// not hold.
#include "core/ledger/recovery.hpp"
#include "tests/core/children_fixture.hpp"

#include <nlohmann/json.hpp>

namespace genv::tests {
namespace {

using nlohmann::json;

class ChildrenFoundAgain : public ChildrenTest {
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
    // Ends a process without the service noticing.
    void vanish(core::Pid pid) {
        processes.onExit([](const core::ProcessIdentity&) {});
        processes.exit(pid);
    }
    // Makes environment 10 with GPUs 0 and 1, and its children 11 and 12 with one GPU each.
    void haveFamily() {
        holding("10", alice, {0, 1});
        start("10", "11", alice);
        start("10", "12", alice);
    }
};

TEST_F(ChildrenFoundAgain, AreAsTheyWereAndWithinTheirParent) {
    haveFamily();
    startInQueue("10", "13", alice);
    const auto again = restart();
    EXPECT_EQ(again->report.restored, 4U);
    EXPECT_TRUE(again->report.conflicts.empty());
    for (const char* id : {"10", "11", "12", "13"})
        EXPECT_EQ(again->ledger.get(id), ledger.get(id)) << id;
    EXPECT_EQ(again->ledger.childrenOf("10").size(), 3U);
    again->ledger.deactivate("10", root);
    EXPECT_TRUE(again->ledger.environments().empty());
    EXPECT_TRUE(store.documents.empty());
}

TEST_F(ChildrenFoundAgain, AreOverWithAParentThatIs) {
    haveFamily();
    vanish(10);
    const auto again = restart();
    EXPECT_TRUE(again->ledger.environments().empty());
    EXPECT_TRUE(store.documents.empty());
    EXPECT_EQ(again->report.ended, 3U);
}

TEST_F(ChildrenFoundAgain, AreOverForTheReasonForWhichTheirParentIs) {
    haveFamily();
    change("10", [](json& document) { document["lease"] = {{"granted", 1U}, {"until", 2U}}; });
    const auto again = restart();
    EXPECT_TRUE(again->ledger.environments().empty());
    ASSERT_EQ(again->report.endedMeanwhile.size(), 3U);
    for (const auto& ended : again->report.endedMeanwhile)
        EXPECT_EQ(ended.reason, core::Reason::expired()) << ended.former.id;
}

TEST_F(ChildrenFoundAgain, AreOverWithoutAParentThatCanBeOne) {
    haveFamily();
    change("12", [](json& document) { document["parent"] = "11"; }); // two levels
    change("11", [](json& document) { document["parent"] = "nobody"; });
    const auto again = restart();
    EXPECT_EQ(again->ledger.environments().size(), 1U);
    EXPECT_EQ(again->ledger.get("10").deviceIndices(), (Indices{0, 1}));
    EXPECT_EQ(store.documents.size(), 1U);
}

TEST_F(ChildrenFoundAgain, AreOverWithTheirOwnIdOrOneThatCameLaterAsTheirParent) {
    haveFamily();
    change("11", [](json& document) { document["parent"] = "11"; });
    change("10", [](json& document) { document["sequence"] = 1000U; });
    EXPECT_EQ(restart()->ledger.environments().size(), 1U) << "another one has the parent's id";
}

TEST_F(ChildrenFoundAgain, HaveNothingThatTheirParentDoesNotHave) {
    haveFamily();
    change("10", [](json& document) { document["attachments"].erase(0); });
    const auto again = restart();
    EXPECT_TRUE(again->ledger.get("11").attachments.empty());
    EXPECT_EQ(again->ledger.get("12").deviceIndices(), Indices{1});
    EXPECT_EQ(again->report.conflicts,
              Words{"environment 11 loses device 0, of which environment 10 has less"});
}

TEST_F(ChildrenFoundAgain, HaveNothingTwice) {
    haveFamily();
    const json attachment = json::parse(store.documents.at("11"))["attachments"][0];
    change("12", [&](json& document) { document["attachments"] = {attachment}; });
    const auto again = restart();
    EXPECT_EQ(again->ledger.get("11").deviceIndices(), Indices{0});
    EXPECT_TRUE(again->ledger.get("12").attachments.empty());
}

TEST_F(ChildrenFoundAgain, HaveNoMoreOfADeviceThanTheirParent) {
    holdingShares("10", alice, {0}, gigabytes(8));
    start("10", "11", alice, count(1, gigabytes(5)));
    start("10", "12", alice, count(1, gigabytes(2)));
    const auto share = [this](const char* id, std::uint64_t bytes) {
        change(id, [&](json& document) { document["attachments"][0]["share"] = bytes; });
    };
    share("12", gigabytes(4).count); // in addition to 5 of 8
    auto again = restart();
    EXPECT_TRUE(again->ledger.get("12").attachments.empty());
    EXPECT_EQ(again->ledger.get("11").attachments.at(0).share, gigabytes(5));
    share("11", 0); // the whole device
    again = restart();
    EXPECT_EQ(again->ledger.get("11").attachments.at(0).share, gigabytes(8));
    share("11", gigabytes(9).count);
    again = restart();
    EXPECT_TRUE(again->ledger.get("11").attachments.empty());
}

TEST_F(ChildrenFoundAgain, OfALingeringParentAreOver) {
    haveFamily();
    change("10", [](json& document) { document["processes"][0]["lingers"] = true; });
    const auto again = restart();
    EXPECT_EQ(again->ledger.environments().size(), 1U);
    EXPECT_TRUE(again->ledger.get("10").isLingering());
}

TEST_F(ChildrenFoundAgain, OfAJobAreWithinIt) {
    ledger.startJob({12, alice, "alice", {"GPU-0"}});
    start("slurm-12", "11", alice);
    const auto again = restart();
    EXPECT_EQ(again->ledger.get("11"), ledger.get("11"));
    again->ledger.deactivate("slurm-12", root);
    EXPECT_TRUE(store.documents.empty());
}

TEST_F(ChildrenFoundAgain, AreNeverJobs) {
    ledger.startJob({12, alice, "alice", {"GPU-0"}});
    holding("10", alice, {1});
    change("slurm-12", [](json& document) { document["parent"] = "10"; });
    const auto again = restart();
    EXPECT_EQ(again->report.setAside, 1U);
    EXPECT_EQ(store.aside, Words{"slurm-12"});
}

} // namespace
} // namespace genv::tests
