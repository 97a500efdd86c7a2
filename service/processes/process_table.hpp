// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: processes, pinned by pidfd. The loop itself only queries pidfds or the owner of a folder
// in /proc, which never blocks. Everything that reads a file of /proc runs on a worker, through a
// helper that can be killed (proc_reader.hpp), because even `stat` may block forever (Linux 6.18).
//
// A read is answered later, rather than within a short wait on the loop. A user can have more hung
// processes than any number of short waits allows for. On the worker they delay only each other,
// because users are served in turn. Once four processes of a user have hung within a minute,
// further ones of this user are refused at once.
#pragma once

#include "core/ports/processes.hpp"
#include "service/loop/fair_worker.hpp"
#include "service/processes/pin_set.hpp"
#include "service/processes/proc_reader.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace genv::service {

class ProcessTable : public core::Processes {
  public:
    /// Whether to query ancestors through pidfds (Linux 6.13) before /proc.
    enum class Ancestry { ByKernel, ByProc };

    ProcessTable(ProcAccess access, Worker::Post post, Ancestry ancestry = Ancestry::ByKernel);
    ~ProcessTable() override;
    ProcessTable(const ProcessTable&) = delete;
    ProcessTable& operator=(const ProcessTable&) = delete;

    std::shared_ptr<const core::ProcessHandle> hold(core::Pid pid) override;
    void pin(core::Pid pid, core::Uid requester, PinAnswer answer) override;
    [[nodiscard]] core::Pid pidOf(int pidfd) const override;
    void pinDescriptor(int pidfd, core::Uid requester, PinAnswer answer) override;
    std::vector<std::shared_ptr<const core::ProcessPin>>
    findAgain(const std::vector<core::ProcessIdentity>& processes) override;
    [[nodiscard]] std::optional<core::ProcessIdentity> pinned(core::Pid pid) const override;
    void lineage(core::Pid pid, core::Uid requester, LineageAnswer answer) override;
    void slurmCgroup(core::Pid pid, core::Uid requester, CgroupAnswer answer) override;
    void loginUser(core::Pid pid, core::Uid requester, LoginAnswer answer) override;
    void usesSamePids(core::Pid pid, core::Uid requester, NumbersAnswer answer) override;
    void onExit(std::function<void(const core::ProcessIdentity&)> listener) override;
    void noticeExits() override;

    /// Returns the descriptor for the loop to watch. Call noticeExits() when it is readable.
    [[nodiscard]] int descriptor() const;

    /// Returns whether findAgain() accepted a process without having read it.
    [[nodiscard]] bool hasUnverified();
    /// Reads these processes again. If one turns out to be another process, reports an exit to
    /// onExit()'s listener.
    void verify();

  private:
    void read(ProcRequest request, core::Uid requester,
              std::function<void(const ProcReading&)> done);
    void pin(Pidfd process, core::Uid requester, PinAnswer answer);
    core::ProcessRead<core::PinnedProcess> pinnedBy(Pidfd& held, const ProcReading& reading);
    [[nodiscard]] std::optional<core::Lineage> askKernel(core::Pid pid) const;
    void verified(const std::vector<std::weak_ptr<const core::ProcessPin>>& pins,
                  const std::vector<ProcReading>& readings);

    const Ancestry ancestry_;
    PinSet pins_;
    std::vector<std::weak_ptr<const core::ProcessPin>> unverified_;
    std::function<void(const core::ProcessIdentity&)> listener_;
    ProcReader reader_; // used by the worker, except at the start
    FairWorker worker_; // last: it uses the other members until it is destroyed
};

} // namespace genv::service
