// SPDX-License-Identifier: LGPL-2.1-or-later
// The permitted queries of the history. A long read of other users' events is authorized once.
#include "dbus/manager/history_calls.hpp"
#include "tests/dbus/context_fixture.hpp"
#include "tests/fuzz/plain_message.hpp"

namespace genv::tests {
namespace {

using core::ErrorCode;
using dbus::VariantMap;
using policy::Verdict;
using sdbus::Variant;

Variant string(const char* value) {
    return Variant{std::string(value)};
}

class HistoryCalls : public ContextTest {
  protected:
    ~HistoryCalls() override {
        isEnding = true;         // the requests here are never answered
        history.answers.clear(); // they refer to the calls, which are destroyed first
    }

    dbus::Reply<dbus::EventRows> reply(core::Uid uid) {
        return {
            dbus::WrittenResult<dbus::EventRows>(dbus::raw::Message(received())),
            dbus::Call{
                row("dev.genv.Manager", "ListEvents"), {":1.7", uid, 500, false}, *this, isEnding}};
    }
    void list(const VariantMap& filter, core::Uid uid = alice, std::uint64_t since = 0,
              std::uint64_t until = 0) {
        const auto call = reply(uid);
        call.guarded([&] { histories.list(call, since, until, filter); });
        calls.push_back(call);
    }
    std::string refusal(const VariantMap& filter, std::uint64_t since = 0,
                        std::uint64_t until = 0) {
        refusals.clear();
        list(filter, alice, since, until);
        EXPECT_TRUE(history.queries.empty());
        if (!refusals.empty()) {
            EXPECT_EQ(refusals[0].code, ErrorCode::InvalidArgs);
        }
        return refusalText();
    }
    /// Answers that the journal could not be read.
    void answerWith(const std::string& failure) {
        history.answers.back()({{}, core::Error(ErrorCode::Timeout, failure)});
    }

    dbus::Histories histories{context.machine, context.calls, clock};
    std::vector<dbus::Reply<dbus::EventRows>> calls;
};

TEST_F(HistoryCalls, RefuseWhatCannotBeAskedFor) {
    const Variant one{std::uint32_t{1}};
    EXPECT_EQ(refusal({{"uid", one}, {"all", Variant{true}}}), "give only one of uid and all");
    EXPECT_NE(refusal({{"environment", string("../x")}}).find("cannot be the environment"),
              std::string::npos);
    EXPECT_NE(refusal({{"device", string("GPU 1")}}).find("device, which is a UUID"),
              std::string::npos);
    EXPECT_EQ(refusal({{"kinds", Variant{std::vector<std::string>{"attached", "eaten\x1b"}}}}),
              R"(unknown kind "eaten\x1b": expected one of attached, detached)");
    EXPECT_EQ(refusal({{"limit", Variant{std::uint32_t{0}}}}), "invalid limit 0: expected 1-10000");
    EXPECT_EQ(refusal({{"limit", Variant{std::uint32_t{10'001}}}}),
              "invalid limit 10001: expected 1-10000");
    for (const std::string& cursor : {std::string(), std::string("s=A"), std::string("a/b"),
                                      std::string("a b"), std::string(257, 'a')})
        EXPECT_EQ(refusal({{"after", Variant{cursor}}}),
                  "invalid cursor in \"after\": expected the cursor of an event that ListEvents "
                  "returned");
    EXPECT_NE(refusal({{"colour", one}}).find("unknown option \"colour\""), std::string::npos);
    EXPECT_EQ(refusal({}, 2'000'000, 1'000'000), "since is later than until");
    EXPECT_EQ(refusal({}, std::uint64_t{1} << 63U),
              "invalid since: expected microseconds since the epoch");
    EXPECT_EQ(refusal({}, 0, ~std::uint64_t{0}),
              "invalid until: expected microseconds since the epoch");
}

TEST_F(HistoryCalls, ReadOnesOwnUntilNowWithoutAQuestion) {
    list({{"environment", string("20")},
          {"device", string("GPU-1")},
          {"kinds", Variant{std::vector<std::string>{"attached"}}},
          {"limit", Variant{std::uint32_t{5}}},
          {"after", string("s=1;i=2")}},
         alice, 1'000'000);
    EXPECT_TRUE(authorizer.questions.empty());
    ASSERT_EQ(history.queries.size(), 1U);
    const core::HistoryFilter& query = history.queries[0];
    EXPECT_EQ(query.uid, alice);
    EXPECT_EQ(query.environment, "20");
    EXPECT_EQ(query.device, "GPU-1");
    EXPECT_EQ(query.kinds, std::vector<std::string>{"attached"});
    EXPECT_EQ(query.limit, 5U);
    EXPECT_EQ(query.after, "s=1;i=2");
    EXPECT_EQ(query.since, core::fromMicroseconds(1'000'000));
    EXPECT_EQ(query.until, clock.wallNow());
}

TEST_F(HistoryCalls, AskAboutTheHistoryOfOthersByName) {
    list({{"uid", Variant{std::uint32_t{bob}}}});
    ASSERT_EQ(authorizer.questions.size(), 1U);
    EXPECT_EQ(authorizer.questions[0].action, policy::Action::ReadHistory);
    EXPECT_NE(authorizer.questions[0].deed.find("bob"), std::string::npos);
    EXPECT_TRUE(history.queries.empty());
    authorizer.answer(Verdict::Authorized);
    ASSERT_EQ(history.queries.size(), 1U);
    EXPECT_EQ(history.queries[0].uid, bob);
    list({{"all", Variant{true}}});
    EXPECT_EQ(authorizer.questions.size(), 2U);
    authorizer.answer(Verdict::Denied);
    EXPECT_EQ(history.queries.size(), 1U);
    EXPECT_EQ(refusals.at(0).code, ErrorCode::AccessDenied);
    list({{"all", Variant{true}}}, 0);
    EXPECT_EQ(authorizer.questions.size(), 2U) << "root is not asked";
    EXPECT_EQ(history.queries.back().uid, std::nullopt);
}

TEST_F(HistoryCalls, SayWhyNothingCouldBeRead) {
    list({});
    answerWith("the journal does not answer");
    EXPECT_EQ(refusalText(), "the journal does not answer");
    EXPECT_EQ(refusals.at(0).code, ErrorCode::Timeout);
}

// Returns a page whose last event is at a cursor, with a value of every type.
core::HistoryPage pageUntil(const std::string& cursor) {
    core::HistoryRow row;
    row.cursor = cursor;
    row.kind = "attached";
    row.message = "environment 20 was attached to device 0";
    row.details = {{"ok", true},
                   {"uid", std::uint32_t{1002}},
                   {"since", std::uint64_t{1'600'000'000}},
                   {"environment", std::string("20")},
                   {"devices", std::vector<std::uint32_t>{0, 1}},
                   {"names", std::vector<std::string>{"a", "b"}}};
    return {{row}, std::nullopt};
}

TEST_F(HistoryCalls, GoOnWithWhatWasAllowedAsLongAsItIsTheSameRead) {
    const Variant bobs{std::uint32_t{bob}};
    list({{"uid", bobs}});
    authorizer.answer(Verdict::Authorized);
    const core::WallTime began = history.queries.back().until;
    history.answers.back()(pageUntil("s=1"));
    EXPECT_TRUE(refusals.empty()) << refusalText();

    clock.pass(std::chrono::hours{1});
    list({{"uid", bobs}, {"after", string("s=1")}});
    EXPECT_EQ(authorizer.questions.size(), 1U) << "it was allowed";
    EXPECT_EQ(history.queries.back().until, began) << "and what came since was not asked about";
    history.answers.back()(pageUntil("s=2"));

    list({{"uid", bobs}, {"after", string("s=1")}});
    EXPECT_EQ(authorizer.questions.size(), 2U) << "it went on to another place";
    list({{"all", Variant{true}}, {"after", string("s=2")}});
    EXPECT_EQ(authorizer.questions.size(), 3U) << "that is more than was allowed";
    list({{"uid", bobs}, {"after", string("s=2")}, {"environment", string("20")}});
    EXPECT_EQ(authorizer.questions.size(), 4U) << "that is another read";
    histories.onDisconnected(":1.7");
    list({{"uid", bobs}, {"after", string("s=2")}});
    EXPECT_EQ(authorizer.questions.size(), 5U) << "a name may be another's after it left";
}

TEST_F(HistoryCalls, EndWithAnEmptyPage) {
    const Variant bobs{std::uint32_t{bob}};
    list({{"uid", bobs}});
    authorizer.answer(Verdict::Authorized);
    history.answers.back()(pageUntil("s=1"));
    list({{"uid", bobs}, {"after", string("s=1")}});
    history.answers.back()({});
    list({{"uid", bobs}, {"after", string("s=1")}});
    EXPECT_EQ(authorizer.questions.size(), 2U);
}

TEST_F(HistoryCalls, AllowNothingMoreByReadingOnesOwn) {
    list({});
    history.answers.back()(pageUntil("s=1"));
    list({{"uid", Variant{std::uint32_t{bob}}}, {"after", string("s=1")}});
    EXPECT_EQ(authorizer.questions.size(), 1U);
}

TEST(EventRows, AreDictionariesWithValuesOfEveryType) {
    sdbus::PlainMessage message = messageWith(dbus::EventRows{pageUntil("s=1").rows});
    std::vector<VariantMap> events;
    message >> events;
    ASSERT_EQ(events.size(), 1U);
    VariantMap& event = events[0];
    EXPECT_EQ(event.size(), 10U);
    EXPECT_EQ(event["cursor"].get<std::string>(), "s=1");
    EXPECT_EQ(event["time"].get<std::uint64_t>(), 0U);
    EXPECT_EQ(event["kind"].get<std::string>(), "attached");
    EXPECT_EQ(event["message"].get<std::string>(), "environment 20 was attached to device 0");
    EXPECT_TRUE(event["ok"].get<bool>());
    EXPECT_EQ(event["uid"].get<std::uint32_t>(), 1002U);
    EXPECT_EQ(event["since"].get<std::uint64_t>(), 1'600'000'000U);
    EXPECT_EQ(event["environment"].get<std::string>(), "20");
    EXPECT_EQ(event["devices"].get<std::vector<std::uint32_t>>(),
              (std::vector<std::uint32_t>{0, 1}));
    EXPECT_EQ(event["names"].get<std::vector<std::string>>(), (std::vector<std::string>{"a", "b"}));
}

} // namespace
} // namespace genv::tests
