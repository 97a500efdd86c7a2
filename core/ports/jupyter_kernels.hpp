// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the Jupyter kernels on this machine. They are found among the processes; no user's home
// directory is read.
#pragma once

#include "core/base/process.hpp"

#include <functional>
#include <string>
#include <vector>

namespace genv::core {

class JupyterKernels {
  public:
    virtual ~JupyterKernels() = default;

    /// The processes that may be a Jupyter kernel. One is the kernel; several cannot be told apart.
    using Found = std::vector<ProcessIdentity>;

    /// Searches for the process of a user, with all its uids, that was started with the connection
    /// file of this Jupyter kernel (kernel-<id>.json as the last part of an argument). If the
    /// calling process `asking` was started with it, it is the kernel; 0 means no process. `answer`
    /// is always called, and never before this returns. A search waits for at most one search of
    /// each other `requester`.
    virtual void find(Uid requester, Uid owner, const std::string& jupyterKernel, Pid asking,
                      std::function<void(Found)> answer) = 0;
};

} // namespace genv::core
