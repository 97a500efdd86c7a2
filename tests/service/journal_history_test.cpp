// SPDX-License-Identifier: LGPL-2.1-or-later
// The order in which requests for the history are served. Their answers are tested with the real
// journal (tests/history).
#include "service/journal/journal_history.hpp"
#include "tests/core/fakes.hpp"
#include "tests/service/mailbox.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace genv::tests {
namespace {

using Uids = std::vector<core::Uid>;

// Makes the requests of these users and returns the order in which they are answered.
Uids servedOrder(const Uids& asking) {
    const TemporaryFolder noJournal;
    Mailbox mailbox;
    service::JournalHistory history(mailbox.post(), {noJournal.path(), std::nullopt});
    Uids served;
    for (const core::Uid uid : asking)
        history.read(uid, {}, [&served, uid](const auto& /*page*/) { served.push_back(uid); });
    while (served.size() < asking.size())
        mailbox.take();
    return served;
}

TEST(JournalHistory, ServesUsersInTurn) {
    constexpr core::Uid carol = 1003;
    EXPECT_EQ(servedOrder({alice, alice, alice, bob, carol}),
              (Uids{alice, bob, carol, alice, alice}));
    EXPECT_EQ(servedOrder({carol, carol, carol, alice, bob}),
              (Uids{carol, alice, bob, carol, carol}));
}

} // namespace
} // namespace genv::tests
