// SPDX-License-Identifier: LGPL-2.1-or-later
// Environments that a waiting request keeps alive, and places in the queue that survive a restart
// of the service.
#include "core/ledger/recovery.hpp"
#include "tests/core/queue_fixture.hpp"

#include <nlohmann/json.hpp>

namespace genv::tests {
namespace {

using core::AttachRequest;
using core::CountWanted;

// An environment that is activated by a waiting request.
class StartedByWaiting : public Queueing {
  protected:
    core::Queue::Ticket start(const std::string& id, std::optional<std::chrono::seconds> lifetime) {
        core::NewEnvironment wanted =
            newEnvironment(id, alice, static_cast<core::Pid>(std::stoul(id)));
        wanted.lifetime = lifetime;
        const auto plan = queue.placeOrWait({CountWanted{1}, {}, {}, false}, nullptr);
        EXPECT_TRUE(std::holds_alternative<core::PlannedWait>(plan));
        ledger.activate(std::move(wanted), plan, alice);
        const auto ticket = ledger.get(id).waits.back().ticket;
        await(queue, id, ticket);
        scheduler.turn();
        return ticket;
    }
    void SetUp() override {
        haveGpus(1);
        activate("10", bob);
        attachCount("10", 1);
    }
};

TEST_F(StartedByWaiting, EndsWithItsWait) {
    queue.cancel(start("20", {}));
    EXPECT_EQ(ledger.find("20"), nullptr);
}

TEST_F(StartedByWaiting, EndsWithAWaitThatSomebodyCancels) {
    const auto ticket = start("20", {});
    emitted.clear();
    queue.dismiss(ticket, bob, "cancelled");
    EXPECT_EQ(ledger.find("20"), nullptr);
    EXPECT_EQ(refusalOf("20"), core::ErrorCode::DeviceUnavailable) << "and nothing else";
    const auto removed = emittedOf<core::EnvironmentRemoved>();
    ASSERT_EQ(removed.size(), 1U);
    EXPECT_EQ(removed[0].cause.reason, core::Reason::admin()) << "which its owner hears";
    EXPECT_EQ(removed[0].cause.actor, bob);
}

TEST_F(StartedByWaiting, StaysWhenSomebodyJoined) {
    const auto ticket = start("20", {});
    processes.add(21, alice);
    ledger.addProcess("20", core::adopt(processes.pin(21), alice, alice), alice);
    queue.cancel(ticket);
    EXPECT_NE(ledger.find("20"), nullptr);
    EXPECT_TRUE(ledger.waits().empty());
}

TEST_F(StartedByWaiting, LivesFromWhenItHasWhatItWaitedFor) {
    start("20", std::chrono::hours{1});
    EXPECT_FALSE(ledger.get("20").lease);
    clock.pass(std::chrono::hours{5});
    detach("10");
    ASSERT_TRUE(isGranted("20"));
    EXPECT_EQ(ledger.get("20").began, clock.bootNow());
    ASSERT_TRUE(ledger.get("20").lease);
    EXPECT_EQ(ledger.get("20").lease->until, clock.bootNow() + std::chrono::hours{1});
}

// A restarted service restores the waiting requests.
class FoundAgain : public Queueing {
  protected:
    struct Again {
        core::EventHub events;
        core::Ledger ledger;
        FakeScheduler scheduler;
        core::Queue queue;
        Again(FoundAgain& test)
            : ledger(test.store, test.clock, events),
              queue(
                  ledger, test.clock, scheduler, events, test.log,
                  [](const core::UserInfo&) { return core::Limits{}; },
                  [] { return core::WaitingTimes{}; }) {
            events.subscribe([this](const core::Event& event) { queue.onEvent(event); });
            core::recover(ledger, test.store, test.processes, test.clock.bootNow());
            queue.expectClients();
            ledger.observed(gpus(1));
            scheduler.turn();
        }
        void await(FoundAgain& test, const std::string& id, core::Queue::Ticket ticket) {
            test.await(queue, id, ticket);
            scheduler.turn();
        }
    };
    void SetUp() override {
        haveGpus(1);
        for (const char* id : {"10", "20", "30"})
            activate(id, alice);
        attachCount("10", 1);
        askCount("20", 1);
        askCount("30", 1);
    }
    const AttachRequest one{CountWanted{1}, {}, {}, false};
};

TEST_F(FoundAgain, KeepTheirPlacesUntilTheyCallAgain) {
    Again again(*this);
    const auto later = again.queue.abandoned("30", one);
    ASSERT_TRUE(later);
    again.await(*this, "30", *later); // the later one calls again first
    again.ledger.detach("10", {}, alice);
    again.scheduler.turn();
    EXPECT_TRUE(answers.empty()) << "the device is kept for the earlier one";
    const auto earlier = again.queue.abandoned("20", one);
    ASSERT_TRUE(earlier);
    again.await(*this, "20", *earlier);
    EXPECT_TRUE(isGranted("20"));
    EXPECT_FALSE(answers.contains("30"));
    EXPECT_EQ(again.queue.abandoned("20", one), std::nullopt);
}

TEST_F(FoundAgain, LeaveWhenTheirClientsDoNotComeBack) {
    Again again(*this);
    again.await(*this, "30", *again.queue.abandoned("30", one));
    again.ledger.detach("10", {}, alice);
    again.scheduler.pass(core::clientTimeout);
    again.scheduler.turn();
    EXPECT_TRUE(isGranted("30"));
    EXPECT_TRUE(again.ledger.waits().empty());
    EXPECT_NE(again.ledger.find("20"), nullptr);
}

TEST_F(FoundAgain, AreToldThatTheyWereDismissed) {
    Again again(*this);
    again.queue.dismiss(*again.queue.abandoned("20", one), bob, "the wait was cancelled by bob");
    EXPECT_EQ(again.ledger.waits().size(), 1U);
    EXPECT_EQ(again.queue.abandoned("20", one), std::nullopt);
    const auto isDismissed = [&](const std::string& id, core::Uid actor) {
        try {
            again.queue.requireNotDismissed(id, one, actor);
        } catch (const core::Error& error) {
            return error.code() == core::ErrorCode::DeviceUnavailable;
        }
        return false;
    };
    EXPECT_FALSE(isDismissed("30", alice)) << "its place is another";
    EXPECT_FALSE(isDismissed("20", bob)) << "he did not wait";
    EXPECT_TRUE(isDismissed("20", alice));
    EXPECT_FALSE(isDismissed("20", alice)) << "who asks anew may wait";

    again.queue.dismiss(*again.queue.abandoned("30", one), alice, "the wait was cancelled");
    again.scheduler.pass(core::clientTimeout);
    again.scheduler.turn();
    EXPECT_FALSE(isDismissed("30", alice)) << "nobody calls again now";
}

TEST_F(FoundAgain, AreToldByTheProcessThatTheyStartedWith) {
    Again again(*this);
    const core::ProcessIdentity process = again.ledger.get("20").processes.front().identity;
    again.queue.dismiss(*again.queue.abandoned("20", one), bob, "cancelled");
    EXPECT_NO_THROW(again.queue.requireNotDismissed(process, bob));
    EXPECT_EQ(codeOf([&] { again.queue.requireNotDismissed(process, alice); }),
              core::ErrorCode::DeviceUnavailable);
}

TEST_F(FoundAgain, NeverGiveATicketAgain) {
    clock.pass(std::chrono::seconds{1});
    const auto last = ledger.get("30").waits.front().ticket;
    queue.cancel(last);
    queue.cancel(ledger.get("20").waits.front().ticket);
    Again again(*this); // finds no document with them
    const core::Plan plan = again.queue.placeOrWait(one, &again.ledger.get("20"));
    again.ledger.attach("20", plan, alice);
    EXPECT_GT(again.ledger.get("20").waits.back().ticket, last);
}

TEST_F(FoundAgain, TakeTheirPlacesWithTheSameRequestOnly) {
    Again again(*this);
    EXPECT_FALSE(again.queue.abandoned("20", {CountWanted{2}, {}, {}, false}));
    EXPECT_FALSE(again.queue.abandoned("10", one));
    EXPECT_FALSE(again.queue.isAbandoned("20")) << "it was not started by its request";
}

TEST_F(FoundAgain, HaveWaitedAllTheWhile) {
    clock.pass(std::chrono::hours{23});
    Again again(*this);
    again.await(*this, "20", *again.queue.abandoned("20", one));
    again.scheduler.pass(std::chrono::minutes{59});
    EXPECT_FALSE(answers.contains("20"));
    again.scheduler.pass(std::chrono::minutes{1});
    EXPECT_EQ(refusalOf("20"), core::ErrorCode::Timeout);
}

// The documents are those of a service without a maximum wait.
TEST_F(FoundAgain, AreNewWhereTheirDocumentsDoNotSayWhenTheyBegan) {
    nlohmann::json document = nlohmann::json::parse(store.documents.at("20"));
    ASSERT_EQ(document["waits"][0].erase("began"), 1U);
    store.documents["20"] = document.dump();
    clock.pass(std::chrono::hours{23});
    Again again(*this);
    EXPECT_EQ(again.ledger.get("20").waits[0].began, clock.bootNow());
}

TEST_F(FoundAgain, LendWhatIsKeptOnTheSameTerms) {
    for (const char* id : {"20", "30"})
        queue.cancel(ledger.get(id).waits.front().ticket);
    ledger.detach("10", {}, alice);
    attachCount("10", 1, gigabytes(4));
    askCount("20", 1);
    EXPECT_EQ(attachNow("30", {CountWanted{1}, {}, gigabytes(2), false}, std::chrono::hours{1}),
              core::ErrorCode::Internal);
    Again again(*this);
    EXPECT_EQ(again.ledger.get("30"), ledger.get("30"));
    EXPECT_EQ(codeOf([&] {
                  again.ledger.configure("30", {{}, {}, {}, std::chrono::seconds{7200}}, alice);
              }),
              core::ErrorCode::DeviceUnavailable);
    again.queue.cancel(again.ledger.get("20").waits.front().ticket);
    again.ledger.configure("30", {{}, {}, {}, std::chrono::seconds{7200}}, alice);
}

} // namespace
} // namespace genv::tests
