// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the Jupyter kernels that run on this machine, found among processes and never in anybody's
// home.
#pragma once

#include "core/process.hpp"

#include <functional>
#include <string>
#include <vector>

namespace genv::core {

class Kernels {
  public:
    virtual ~Kernels() = default;

    /// The processes that may be a kernel: one is it, several cannot be told apart.
    using Found = std::vector<ProcessIdentity>;

    /// Looks for the process of a user, with all its uids, that was started with the connection
    /// file of this kernel (kernel-<id>.json as the last part of an argument). `asking`, the
    /// process that wants to know, is the kernel where it was started so itself; 0 is none. Always
    /// answers, never before this returns. Nobody waits for more than one search of another
    /// `asker`.
    virtual void find(Uid asker, Uid owner, const std::string& kernel, Pid asking,
                      std::function<void(Found)> answer) = 0;
};

} // namespace genv::core
