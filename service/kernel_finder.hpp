// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: finds a Jupyter kernel by the connection file in its own command line, on a worker.
// Nothing in anybody's home is read, and a process counts only when it is its owner's with all its
// uids.
#pragma once

#include "core/ports/kernels.hpp"
#include "service/worker.hpp"

namespace genv::service {

class KernelFinder : public core::Kernels {
  public:
    explicit KernelFinder(Worker::Post post) : worker_("genvd-kernels", std::move(post)) {}

    void find(core::Uid owner, const std::string& kernel,
              std::function<void(std::optional<core::ProcessIdentity>)> answer) override;

  private:
    Worker worker_;
};

} // namespace genv::service
