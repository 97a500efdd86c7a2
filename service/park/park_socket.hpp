// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: parks processes through genv-park. systemd starts one genv-park for each connection to a
// socket, so each call uses its own connection. Everything runs on the loop and never blocks.
#pragma once

#include "core/ports/parker.hpp"
#include "core/ports/scheduler.hpp"
#include "service/loop/line_exchange.hpp"
#include "service/park/park_protocol.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>

namespace genv::service {

/// The socket of the helper, and the limits for its use.
struct ParkSocketSettings {
    std::filesystem::path socket;
    /// The time after the helper's own deadline, so that the helper can answer.
    std::chrono::milliseconds margin{5'000};
    std::size_t maxConnections = 64; ///< at once; less than the socket unit's MaxConnections=
    /// Connections at once for the processes of one user, so that processes that hang their helpers
    /// delay only calls for their own user.
    std::size_t maxPerUser = 32;
    std::size_t maxWaiting = 4096; ///< calls that wait for a connection
};

/// Answers each call once, in a later iteration of the loop. The destructor drops the calls in
/// progress.
class ParkSocket final : public core::Parker {
  public:
    ParkSocket(ParkSocketSettings settings, core::Scheduler& scheduler);
    ~ParkSocket() override;
    ParkSocket(const ParkSocket&) = delete;
    ParkSocket& operator=(const ParkSocket&) = delete;

    void call(core::ParkingCall call, const core::ParkingTarget& target,
              std::chrono::milliseconds lockTimeout,
              std::function<void(const core::ParkingReply&)> answer) override;
    void capability(std::function<void(const core::ParkingCapability&)> answer) override;

  private:
    /// Called with the answer, or with the fault of the helper.
    using Answer = std::function<void(const ParkAnswer&)>;
    struct Waiting {
        ParkRequest request;
        Answer answer;
    };

    void ask(const ParkRequest& request, Answer answer);
    void beginNext();
    void begin(Waiting next);
    [[nodiscard]] bool mayBegin(const Waiting& waiting) const;
    void answerLater(Answer answer);

    const ParkSocketSettings settings_;
    core::Scheduler& scheduler_;
    std::deque<Waiting> waiting_;
    std::list<std::unique_ptr<LineExchange>> exchanges_;
    std::map<core::Uid, std::size_t> ofUser_; ///< connections in progress
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace genv::service
