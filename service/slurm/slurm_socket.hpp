// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: Slurm, as genv-slurm asks it. systemd starts one for each connection to a socket, so
// each request is a connection of its own, and all of it happens on the loop, which never waits.
#pragma once

#include "core/ports/scheduler.hpp"
#include "core/ports/slurm.hpp"
#include "service/slurm/slurm_protocol.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>

namespace genv::service {

/// Where the helper is asked, and for how long.
struct SlurmSocketSettings {
    std::filesystem::path socket;
    /// Beyond the helper's own deadline, so that the helper can say itself what hangs.
    std::chrono::milliseconds answerTimeout{15'000};
    std::size_t maxConnections = 4; ///< at once; below the socket unit's MaxConnections=
    std::size_t maxWaiting = 256;   ///< requests that wait for a connection
};

/// Answers each request once, later, in a turn of the loop; those that are under way when it goes
/// are dropped.
class SlurmSocket final : public core::Slurm {
  public:
    SlurmSocket(SlurmSocketSettings settings, core::Scheduler& scheduler);
    ~SlurmSocket() override;
    SlurmSocket(const SlurmSocket&) = delete;
    SlurmSocket& operator=(const SlurmSocket&) = delete;

    void listDevices(Devices devices) override;
    void setEnd(core::SlurmJobId job, core::WallTime end, Done done) override;
    void cancel(core::SlurmJobId job, Done done) override;
    void requeue(core::SlurmJobId job, Done done) override;

  private:
    using Answer = std::function<void(const SlurmAnswer&)>;
    class Exchange;
    struct Waiting {
        SlurmRequest request;
        Answer answer;
    };

    void ask(SlurmRequest request, Answer answer);
    void beginNext();
    void answerLater(Answer answer, core::SlurmFailure failure);
    static Answer withDone(Done done);

    const SlurmSocketSettings settings_;
    core::Scheduler& scheduler_;
    std::deque<Waiting> waiting_;
    std::list<std::unique_ptr<Exchange>> exchanges_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace genv::service
