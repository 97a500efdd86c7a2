// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: finds a Jupyter kernel by the connection file in its own command line, on a worker.
// Nothing in anybody's home is read, and a process counts only when it is its owner's with all its
// uids. Other processes of the owner's may name the file, too, so:
// - the process that asks, where it was started with the file, is the kernel: "genvctl jupyter
//   run" asks, and then becomes it;
// - else a process that has the file as an option's value, as the usual kernels do ("-f FILE",
//   "--f=FILE"), goes before one that merely has it among its arguments, as an editor does but also
//   some kernels, and one that attaches to an "--existing" kernel never is it;
// - a process that a kernel forked has its command line, and is not it.
// Where that leaves several, none is chosen.
// Only processes whose effective uid is the owner's are read, so that one that hangs its readers
// (proc_reader.hpp) holds up no search but for its own user's kernels.
// A command line belongs to the identity that goes with it, pid and start time; whoever pins the
// process compares that, and checks the uids once more.
#pragma once

#include "core/ports/kernels.hpp"
#include "service/loop/fair_worker.hpp"
#include "service/processes/proc_reader.hpp"

namespace genv::service {

class KernelFinder : public core::Kernels {
  public:
    KernelFinder(ProcAccess access, Worker::Post post)
        : reader_(std::move(access)), worker_("genvd-kernels", std::move(post)) {}

    void find(core::Uid asker, core::Uid owner, const std::string& kernel, core::Pid asking,
              std::function<void(Found)> answer) override;

  private:
    ProcReader reader_; // the worker's alone
    FairWorker worker_; // last: it uses the reader until it is gone
};

} // namespace genv::service
