// SPDX-License-Identifier: LGPL-2.1-or-later
// When messages are sent, with a clock that the tests move, and a sender that does what they say.
#include "client/messages/delivery/outbox.hpp"
#include "client/messages/model/retries.hpp"
#include "spool_fixture.hpp"

#include <chrono>
#include <ctime>
#include <fstream>
#include <utility>
#include <vector>

namespace genv::messages {

namespace {

using namespace std::chrono_literals;

/// Keeps what it is given until the test ends it.
class HeldSender : public Sender {
  public:
    void send(const Parcel& parcel, const DeliveryTarget& /*target*/, Ended ended) override {
        parcels.push_back(parcel);
        ended_ = std::move(ended);
    }
    void succeed() {
        std::filesystem::remove(batchFile(parcels.back().folder, parcels.back().instance));
        std::exchange(ended_, nullptr)("");
    }
    void fail() { std::exchange(ended_, nullptr)("the unit failed"); }
    [[nodiscard]] bool isSending() const { return ended_ != nullptr; }

    std::vector<Parcel> parcels;

  private:
    Ended ended_;
};

class Outboxes : public SpoolFixture {
  protected:
    Outboxes() { open(); }

    void open(Channel channel = Channel::Webhook) {
        outbox_.reset();
        outbox_.emplace(
            channel, folder(),
            Outbox::Surroundings{"gpu1", &sender_, [this] { return now_; },
                                 [this](const std::string& line) { log_.push_back(line); }, [] {}});
    }
    void pass(std::chrono::microseconds time) {
        now_ += time;
        outbox_->run(target_);
    }
    [[nodiscard]] std::optional<std::chrono::microseconds> left() const {
        const auto due = outbox_->due(target_);
        return due ? std::optional(*due - now_) : std::nullopt;
    }

    core::WallTime now_{std::chrono::hours(24 * 20000) + 12h}; // at noon in UTC
    DeliveryTarget target_;
    HeldSender sender_;
    std::vector<std::string> log_;
    std::optional<Outbox> outbox_;
};

TEST_F(Outboxes, GatherWhatComesAtOnce) {
    EXPECT_EQ(left(), std::nullopt);
    outbox_->add(endOf(1));
    pass(1s);
    outbox_->add(endOf(2));
    EXPECT_EQ(left(), 1s);
    pass(1s);
    ASSERT_EQ(sender_.parcels.size(), 1U);
    EXPECT_EQ(sender_.parcels[0].contents.events, (std::vector{endOf(1), endOf(2)}));
    EXPECT_EQ(sender_.parcels[0].contents.machine, "gpu1");
    sender_.succeed();
    EXPECT_EQ(left(), std::nullopt);
}

TEST_F(Outboxes, SendNoTwoMessagesInAHurry) {
    outbox_->add(endOf(1));
    pass(Outbox::together);
    outbox_->add(endOf(2)); // while the first is being sent
    pass(Outbox::together);
    EXPECT_EQ(sender_.parcels.size(), 1U);
    sender_.succeed();
    EXPECT_EQ(left(), Outbox::apart);
    outbox_->add(endOf(3));
    pass(Outbox::apart);
    ASSERT_EQ(sender_.parcels.size(), 2U);
    EXPECT_EQ(sender_.parcels[1].contents.events, (std::vector{endOf(2), endOf(3)}));
}

TEST_F(Outboxes, TryAgainFiveTimesWithinAnHourAndThenDrop) {
    outbox_->add(endOf(1));
    pass(Outbox::together);
    const auto first = now_;
    for (const auto delay : retryDelays) {
        sender_.fail();
        EXPECT_EQ(left(), delay);
        pass(delay - 1s);
        EXPECT_FALSE(sender_.isSending());
        pass(1s);
        EXPECT_TRUE(sender_.isSending());
    }
    EXPECT_EQ(now_ - first, 60min);
    EXPECT_EQ(sender_.parcels.size(), 6U);
    EXPECT_TRUE(log_.empty());
    sender_.fail();
    ASSERT_EQ(log_.size(), 1U);
    EXPECT_EQ(log_[0],
              "dropped \"gpu1: Job 1 ended\" for [Webhook] after 6 attempts: the unit failed");
    EXPECT_EQ(countWaiting(folder()), 0U);
}

TEST_F(Outboxes, SayWhyTheSenderFailed) {
    open(Channel::Command);
    outbox_->add(endOf(1));
    pass(Outbox::together);
    const Parcel& parcel = sender_.parcels.back();
    std::ofstream(reasonFile(parcel.folder, parcel.instance)) << "it answered 500\n";
    sender_.fail();
    ASSERT_EQ(log_.size(), 1U);
    EXPECT_TRUE(log_[0].ends_with("after 1 attempt: it answered 500\\x0a")) << log_[0];
    EXPECT_TRUE(std::filesystem::is_empty(folder()));
}

TEST_F(Outboxes, WaitForTheEndOfQuietHours) {
    setenv("TZ", "UTC", 1);
    tzset();
    target_.quiet = QuietHours{11h, 13h};
    outbox_->add(endOf(1));
    EXPECT_EQ(left(), 1h);
    pass(30min);
    outbox_->add(endOf(2));
    EXPECT_TRUE(sender_.parcels.empty());
    pass(30min);
    ASSERT_EQ(sender_.parcels.size(), 1U);
    EXPECT_EQ(sender_.parcels[0].contents.events.size(), 2U);
    target_.quiet = QuietHours{13h, 14h};
    sender_.fail();
    EXPECT_EQ(left(), 1h) << "also further attempts wait";
    unsetenv("TZ");
    tzset();
}

TEST_F(Outboxes, ContinueAfterACrash) {
    outbox_->add(endOf(1));
    open();
    EXPECT_EQ(left(), Outbox::together);
    pass(Outbox::together);
    open(); // while it is being sent
    pass(0s);
    EXPECT_EQ(sender_.parcels.size(), 2U);
    EXPECT_EQ(sender_.parcels[0].instance, sender_.parcels[1].instance);
    sender_.fail();
    EXPECT_EQ(left(), retryDelays[1]) << "the attempt before the crash counts";
}

TEST_F(Outboxes, DoNotSendAgainWhatWasSentDuringACrash) {
    outbox_->add(endOf(1));
    pass(Outbox::together);
    std::filesystem::remove(batchFile(folder(), sender_.parcels[0].instance));
    open();
    EXPECT_EQ(left(), std::nullopt);
}

TEST_F(Outboxes, GiveUpAUnitThatDoesNotEnd) {
    outbox_->add(endOf(1));
    pass(Outbox::together);
    EXPECT_EQ(left(), Outbox::maxSending);
    pass(Outbox::maxSending);
    EXPECT_EQ(left(), retryDelays[0]);
    sender_.fail(); // late
    EXPECT_EQ(left(), retryDelays[0]);
}

TEST_F(Outboxes, SendSoonAfterTheClockWasSetBack) {
    outbox_->add(endOf(1));
    pass(Outbox::together);
    sender_.fail();
    now_ -= 240h;
    EXPECT_LE(*left(), retryDelays.back());
}

TEST_F(Outboxes, ForgetWhatNobodyWants) {
    outbox_->add(endOf(1));
    pass(Outbox::together);
    outbox_->add(endOf(2));
    outbox_->clear();
    EXPECT_TRUE(std::filesystem::is_empty(folder()));
    sender_.fail();
    EXPECT_TRUE(log_.empty());
}

} // namespace

} // namespace genv::messages
