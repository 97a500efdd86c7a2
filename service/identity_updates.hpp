// SPDX-License-Identifier: LGPL-2.1-or-later
// Tells the kernel's gate whose subordinate and exempt uids are whose, again whenever /etc/subuid,
// the users or the configuration change. The loader has told it at boot.
#pragma once

#include "core/ports/log.hpp"
#include "core/settings.hpp"
#include "service/isolation/identities.hpp"
#include "service/isolation/kernel_gates.hpp"
#include "service/loop/worker.hpp"

#include <string>
#include <vector>

namespace genv::service {

class IdentityUpdates {
  public:
    /// All outlive this.
    IdentityUpdates(KernelGates& gates, core::Log& log, Worker::Post post);

    /// Reads the files on a thread, since a user may have to be looked up far away, where one of
    /// them or the settings changed since the last call; the gate is told later.
    void check(const core::IsolationSettings& settings);
    /// Reads them again at the next check, since users far away may have changed.
    void forget() { isDue_ = true; }

  private:
    void take(const isolation::Identities& identities);
    void failed(const std::string& reason);

    KernelGates& gates_;
    core::Log& log_;
    isolation::IdentityFiles files_;
    core::IsolationSettings settings_;
    std::vector<std::string> complaints_; ///< as they were last logged
    bool hasFailed_ = false;              ///< the failure is logged
    bool isDue_ = true;                   ///< the gate does not have what the files say
    bool isReading_ = false;
    Worker worker_; ///< the last member: it ends before the others
};

} // namespace genv::service
