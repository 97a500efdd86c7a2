// SPDX-License-Identifier: LGPL-2.1-or-later
// Lines of the log name users, in the order in which they were written.
#include "service/journal/named_lines.hpp"
#include "tests/core/fakes.hpp"
#include "tests/core/kept_log.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace genv::tests {
namespace {

using service::journal::NamedLines;

/// Answers when the test says so.
class SlowUsers : public FakeUsers {
  public:
    std::multimap<core::Uid, std::function<void(const core::UserInfo&)>> asked;

    void describe(core::Uid uid, std::function<void(const core::UserInfo&)> answer) override {
        asked.emplace(uid, std::move(answer));
    }
    void answer(core::Uid uid, const std::string& name) {
        const auto found = asked.find(uid);
        const auto done = std::move(found->second);
        asked.erase(found);
        done({uid, name, {}});
    }
};

using Texts = std::vector<std::string>;

TEST(NamedLines, NameEveryUserInALine) {
    SlowUsers users;
    KeptLog log;
    NamedLines lines(users, log, true);
    lines.notice("detached (enforced by uid {}), logged in as uid {}, not uid {}", 0, 1001, 10011);
    EXPECT_TRUE(log.lines.empty());
    users.answer(1001, "alice");
    users.answer(0, "root");
    users.answer(10011, "10011"); // nobody has this uid
    EXPECT_EQ(log.lines, Texts{"detached (enforced by root (0)), logged in as alice (1001), not "
                               "uid 10011"});
}

TEST(NamedLines, KeepTheirOrder) {
    SlowUsers users;
    KeptLog log;
    NamedLines lines(users, log, true);
    lines.notice("before");
    lines.notice("of uid 1001");
    lines.notice("after");
    EXPECT_EQ(log.lines, Texts{"before"});
    users.answer(1001, "alice");
    EXPECT_EQ(log.lines, (Texts{"before", "of alice (1001)", "after"}));
}

TEST(NamedLines, NameNobodyInAnothersText) {
    SlowUsers users;
    KeptLog log;
    NamedLines lines(users, log, true);
    lines.write(core::Severity::Notice, "refused uid 1001: invalid id \"uid 1002\"", {1001});
    EXPECT_EQ(users.asked.count(1002), 0U);
    users.answer(1001, "alice\n");
    EXPECT_EQ(log.lines, Texts{"refused alice\\x0a (1001): invalid id \"uid 1002\""});
}

TEST(NamedLines, AreNotHeldUpForEver) {
    SlowUsers users;
    KeptLog log;
    {
        NamedLines lines(users, log, true);
        for (std::size_t i = 0; i <= NamedLines::maxWaiting; ++i)
            lines.notice("of uid 1001");
        EXPECT_EQ(log.lines.size(), 1U);
    }
    EXPECT_EQ(log.lines.size(), NamedLines::maxWaiting + 1) << "the end writes them";
    users.answer(1001, "alice"); // too late
}

TEST(NamedLines, PassOnUidsWhereNobodyIsToBeNamed) {
    SlowUsers users;
    KeptLog log;
    NamedLines lines(users, log, false);
    lines.notice("of uid 1001");
    lines.write(core::Severity::Notice, "of uid 1001", {1001});
    EXPECT_TRUE(users.asked.empty());
    EXPECT_EQ(log.lines, (Texts{"of uid 1001", "of uid 1001"}));
}

} // namespace
} // namespace genv::tests
