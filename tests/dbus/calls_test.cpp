// SPDX-License-Identifier: LGPL-2.1-or-later
// A call is answered once, whatever happens to its work. Calls that wait are counted, and belong to
// their connection.
#include "core/settings/caps.hpp"
#include "dbus/calls/bus_context.hpp"
#include "tests/dbus/reply_fixture.hpp"

namespace genv::tests {
namespace {

using core::ErrorCode;

class Calls : public ReplyTest {};

TEST_F(Calls, AreRefusedOnceWithWhatIsKnownOfThem) {
    const auto reply = call();
    policy::Target target;
    target.environment = "20";
    reply.about(target);
    reply.misses(policy::Action::ManageOwn);
    reply.refuse({ErrorCode::Busy, "wait a little"});
    reply.refuse({ErrorCode::Timeout, "too late"});
    ASSERT_EQ(refusals.size(), 1U);
    EXPECT_EQ(refusals[0].message, "wait a little");
    EXPECT_EQ(refusals[0].connection, ":1.7");
    EXPECT_EQ(refusals[0].caller, alice);
    EXPECT_EQ(refusals[0].target, target);
    EXPECT_EQ(refusals[0].missing, policy::Action::ManageOwn);
    EXPECT_STREQ(refusals[0].error, "dev.genv.Error.Busy");
}

TEST_F(Calls, OfNobodyKnownNameNobody) {
    call(0, "").refuse({ErrorCode::AccessDenied, "the bus does not know the sender of this call"});
    ASSERT_EQ(refusals.size(), 1U);
    EXPECT_EQ(refusals[0].caller, std::nullopt) << "and least of all root";
}

TEST_F(Calls, ThatEverybodyLetGoOfAreAnswered) {
    { const auto reply = call(); }
    EXPECT_EQ(refusalText(), "nobody answered the call");
    refusals.clear();
    {
        const auto later = call().later([] {});
    }
    EXPECT_EQ(refusals.size(), 1U) << "also when a step never came";
}

TEST_F(Calls, AreNotAnsweredInTheEndOfTheService) {
    {
        const auto reply = call();
        isEnding = true;
    }
    EXPECT_TRUE(refusals.empty()) << "the bus says that there is no reply";
}

TEST_F(Calls, TurnWhatIsThrownIntoARefusalAndKeepFaultsForTheLog) {
    call().later([](int) { core::fail(ErrorCode::NotAttached, "not that one"); })(1);
    EXPECT_EQ(refusalText(), "not that one");
    refusals.clear();
    call().guarded([] { throw std::runtime_error("a\x1b[2Jb"); });
    EXPECT_EQ(refusals.at(0).code, ErrorCode::Internal);
    EXPECT_EQ(refusalText(), "a\\x1b[2Jb");
}

TEST_F(Calls, ThatWereGivenUpRunNoFurther) {
    const auto reply = call();
    bool ran = false;
    const auto later = reply.later([&] { ran = true; });
    reply.drop();
    later();
    reply.refuse({ErrorCode::Busy, "wait a little"});
    EXPECT_FALSE(ran);
    EXPECT_TRUE(refusals.empty());
}

TEST_F(Calls, ThatWaitLeaveTheirLineWithTheirConnection) {
    dbus::WaitingCalls waiting;
    const auto first = call(alice, ":1.7");
    const auto second = call(alice, ":1.8");
    int cancelled = 0;
    bool ran = false;
    auto one = waiting.remember(first, [&] { ++cancelled; });
    const auto plain = waiting.remember(first); // not in a queue
    const auto two = waiting.remember(second, [&] { ++cancelled; });
    waiting.onDisconnected(":1.7");
    EXPECT_EQ(cancelled, 1);
    first.guarded([&] { ran = true; });
    EXPECT_FALSE(ran) << "nobody hears its answer";
    second.guarded([&] { ran = true; });
    EXPECT_TRUE(ran);
    one.reset();
    waiting.onDisconnected(":1.7");
    EXPECT_EQ(cancelled, 1) << "an answered call is forgotten";
    isEnding = true;
}

TEST_F(Calls, ThatWaitKeepTheirPlaceWhenTheServiceEnds) {
    dbus::WaitingCalls waiting;
    const auto reply = call();
    bool cancelled = false;
    const auto remembered = waiting.remember(reply, [&] { cancelled = true; });
    waiting.giveUp();
    EXPECT_FALSE(cancelled);
    reply.refuse({ErrorCode::NoSuchEnvironment, "it ended"});
    EXPECT_TRUE(refusals.empty());
}

TEST_F(Calls, ThatListAreCountedForEachUserButRoot) {
    dbus::CallPlaces lists{core::caps::listCallsPerUser, "list"};
    std::vector<std::shared_ptr<void>> places;
    for (std::size_t i = 0; i < core::caps::listCallsPerUser; ++i)
        places.push_back(lists.enter(alice));
    EXPECT_THROW(static_cast<void>(lists.enter(alice)), core::Error);
    EXPECT_NE(lists.enter(bob), nullptr);
    places.pop_back();
    EXPECT_NE(lists.enter(alice), nullptr) << "an answered call does not count";
    for (std::size_t i = 0; i < 2 * core::caps::listCallsPerUser; ++i)
        places.push_back(lists.enter(0));
}

// Of connections that never close. The bus is asked again for those that were forgotten.
TEST(Callers, AreForgottenWhereThereAreTooMany) {
    constexpr core::Uid alice = 1001;
    constexpr int many = 20'000;
    const auto nameOf = [](int number) { return ":1." + std::to_string(number); };
    dbus::Callers callers;
    for (int i = 0; i < many; ++i)
        callers.learn(nameOf(i), dbus::raw::Credentials{alice, 500});
    int known = 0;
    for (int i = 0; i < many; ++i)
        known += callers.known(nameOf(i)) ? 1 : 0;
    EXPECT_LT(known, many / 2);
    EXPECT_EQ(callers.known(nameOf(many - 1)), alice) << "the latest is known";
}

TEST(Callers, AreLookedUpOnceIfTheyAreRootsWithAPid) {
    dbus::Callers callers;
    EXPECT_EQ(callers.pidToLookUp(":1.7"), std::nullopt) << "nobody knows it";
    callers.learn(":1.7", dbus::raw::Credentials{0, 500});
    callers.learn(":1.8", dbus::raw::Credentials{1001, 501});
    callers.learn(":1.9", dbus::raw::Credentials{0, 0});
    EXPECT_EQ(callers.pidToLookUp(":1.7"), 500U);
    EXPECT_EQ(callers.pidToLookUp(":1.8"), std::nullopt);
    EXPECT_EQ(callers.pidToLookUp(":1.9"), std::nullopt);
    callers.learnLogin(":1.7", std::nullopt);
    EXPECT_EQ(callers.pidToLookUp(":1.7"), std::nullopt) << "also if nobody had logged in";
}

} // namespace
} // namespace genv::tests
