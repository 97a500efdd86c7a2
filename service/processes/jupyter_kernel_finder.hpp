// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: finds a Jupyter kernel by the connection file in its command line, on a worker. Reads
// nothing in users' home folders. A process counts only if all of its uids are the owner's. Other
// processes of the owner may also name the file, so these rules apply:
// - If the calling process was started with the file, it is the Jupyter kernel: "genvctl jupyter
//   run" calls and then becomes the kernel.
// - Otherwise, a process that has the file as the value of an option is preferred to one that has
//   it as a plain argument. The usual Jupyter kernels pass it as an option ("-f FILE", "--f=FILE").
//   An editor has it as a plain argument, but so do some kernels.
// - A process that attaches to an "--existing" Jupyter kernel is never the kernel.
// - A process that a Jupyter kernel forked has the same command line, and is not the kernel. If
//   several processes remain, none is chosen.
//
// Only processes whose effective uid is the owner's are read. A process that hangs its readers
// (proc_reader.hpp) therefore delays only searches for its own user's Jupyter kernels.
//
// A command line belongs to the identity that is returned with it, PID and start time. The caller
// that pins the process compares this identity and checks the uids once more.
#pragma once

#include "core/ports/jupyter_kernels.hpp"
#include "service/loop/fair_worker.hpp"
#include "service/processes/proc_reader.hpp"

namespace genv::service {

class JupyterKernelFinder : public core::JupyterKernels {
  public:
    JupyterKernelFinder(ProcAccess access, Worker::Post post)
        : reader_(std::move(access)), worker_("genvd-kernels", std::move(post)) {}

    void find(core::Uid requester, core::Uid owner, const std::string& jupyterKernel,
              core::Pid asking, std::function<void(Found)> answer) override;

  private:
    ProcReader reader_; // used by the worker only
    FairWorker worker_; // last: it uses the reader until it is destroyed
};

} // namespace genv::service
