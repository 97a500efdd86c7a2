// SPDX-License-Identifier: LGPL-2.1-or-later
// Updates the kernel gate's map of subordinate and exempt uids and their owners whenever
// /etc/subuid, the users or the configuration change. The loader fills the map at boot.
#pragma once

#include "core/ports/log.hpp"
#include "core/settings/settings.hpp"
#include "service/isolation/identities.hpp"
#include "service/isolation/kernel_gates.hpp"
#include "service/loop/worker.hpp"

#include <set>
#include <string>
#include <vector>

namespace genv::service {

class IdentityUpdates {
  public:
    /// All arguments must outlive this object.
    IdentityUpdates(KernelGates& gates, core::Log& log, Worker::Post post);

    /// Reads the files if one of them or the settings have changed since the last call. Reads on a
    /// worker thread, because looking up a user may require a remote server. The gate is updated
    /// later.
    void check(const core::IsolationSettings& settings);
    /// Sets the users with a uid of systemd's DynamicUser= who are people. They take effect with
    /// the next check.
    void setPeople(std::set<core::Uid> people);
    /// Forces the next check to read the files again, because users on a remote server may have
    /// changed.
    void forget() { isDue_ = true; }

  private:
    void take(const isolation::Identities& identities);
    void failed(const std::string& reason);

    KernelGates& gates_;
    core::Log& log_;
    isolation::IdentityFiles files_;
    core::IsolationSettings settings_;
    std::vector<std::string> complaints_; ///< as last logged
    std::set<core::Uid> people_;
    bool hasFailed_ = false; ///< the failure has been logged
    bool isDue_ = true;      ///< the gate differs from the files
    bool isReading_ = false;
    Worker worker_; ///< last member: destroyed before the others
};

} // namespace genv::service
