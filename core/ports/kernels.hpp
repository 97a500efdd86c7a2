// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the Jupyter kernels that run on this machine, found among processes and never in anybody's
// home.
#pragma once

#include "core/process.hpp"

#include <functional>
#include <optional>
#include <string>

namespace genv::core {

class Kernels {
  public:
    virtual ~Kernels() = default;

    /// Looks for the process of a user, with all its uids, that was started with the connection
    /// file of this kernel (kernel-<id>.json as the last part of an argument). Always answers,
    /// never before this returns.
    virtual void find(Uid owner, const std::string& kernel,
                      std::function<void(std::optional<ProcessIdentity>)> answer) = 0;
};

} // namespace genv::core
