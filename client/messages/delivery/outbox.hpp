// SPDX-License-Identifier: LGPL-2.1-or-later
// Decides when the events of one channel are sent: a moment after the first, so that several become
// one message; not in quiet hours; and again after a failure, five times within an hour.
#pragma once

#include "client/messages/delivery/unit_sender.hpp"
#include "client/messages/files/spool.hpp"
#include "client/messages/model/configuration.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace genv::messages {

class Outbox {
  public:
    /// Events that come this soon after the first are part of its message.
    static constexpr std::chrono::seconds together{2};
    /// The least time between two messages. Events of this time are one message.
    static constexpr std::chrono::seconds apart{10};
    /// A unit that has not ended by then is given up.
    static constexpr std::chrono::minutes maxSending{5};

    struct Surroundings {
        std::string machine;
        Sender* sender = nullptr;                       ///< outlives this object
        std::function<core::WallTime()> now;            ///< the wall clock
        std::function<void(const std::string&)> report; ///< writes a line to the journal
        std::function<void()> changed;                  ///< due() may have changed
    };

    /// Throws std::system_error if the folder cannot be used, as the other functions do.
    Outbox(Channel channel, std::filesystem::path folder, Surroundings surroundings);
    Outbox(const Outbox&) = delete;
    Outbox& operator=(const Outbox&) = delete;

    void add(const MessageEvent& event);
    /// Drops the waiting events, because the user no longer wants messages here.
    void clear() { spool_.clear(); }

    [[nodiscard]] bool isEmpty() const { return spool_.size() == 0; }

    /// Returns when run() has something to do; nothing if that depends on other calls.
    [[nodiscard]] std::optional<core::WallTime> due(const DeliveryTarget& target) const;
    /// Sends the message that is due, if any.
    void run(const DeliveryTarget& target);

  private:
    [[nodiscard]] std::optional<core::WallTime> wanted() const;
    void beginAttempt(const DeliveryTarget& target);
    void onEnded(std::uint64_t batch, const std::string& trouble);
    void onFailed(const std::string& trouble);

    const Channel channel_;
    const Surroundings surroundings_;
    Spool spool_;
    std::optional<core::WallTime> firstAt_; ///< when the first event that waits came
    std::optional<core::WallTime> lastAt_;  ///< when the last message was sent or given up
    std::optional<core::WallTime> sendingSince_;
    std::shared_ptr<bool> isAlive_ = std::make_shared<bool>(true);
};

} // namespace genv::messages
