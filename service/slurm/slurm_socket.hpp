// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: accesses Slurm through genv-slurm. systemd starts one genv-slurm for each connection to
// a socket, so each request uses its own connection. Everything runs on the loop and never blocks.
#pragma once

#include "core/ports/scheduler.hpp"
#include "core/ports/slurm.hpp"
#include "service/loop/line_exchange.hpp"
#include "service/slurm/slurm_protocol.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>

namespace genv::service {

/// The socket of the helper, and the limits for its use.
struct SlurmSocketSettings {
    std::filesystem::path socket;
    /// Longer than the helper's own deadline, so that the helper can report which program hangs.
    std::chrono::milliseconds answerTimeout{15'000};
    std::size_t maxConnections = 4; ///< at once; less than the socket unit's MaxConnections=
    std::size_t maxWaiting = 256;   ///< requests waiting for a connection
};

/// Answers each request once, in a later iteration of the loop. The destructor drops the requests
/// in progress.
class SlurmSocket final : public core::Slurm {
  public:
    SlurmSocket(SlurmSocketSettings settings, core::Scheduler& scheduler);
    ~SlurmSocket() override;
    SlurmSocket(const SlurmSocket&) = delete;
    SlurmSocket& operator=(const SlurmSocket&) = delete;

    void listDevices(Devices devices) override;
    void findJob(core::Sluid sluid, Found found) override;
    void setEnd(core::SlurmJobId job, core::WallTime end, Done done) override;
    void cancel(core::SlurmJobId job, Done done) override;
    void requeue(core::SlurmJobId job, Done done) override;

  private:
    using Answer = std::function<void(const SlurmAnswer&)>;
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
    std::list<std::unique_ptr<LineExchange>> exchanges_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace genv::service
