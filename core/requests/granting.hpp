// SPDX-License-Identifier: LGPL-2.1-or-later
// Carries out the decision on a request, in one change of the ledger.
#pragma once

#include "core/ledger/ledger.hpp"
#include "core/model/environment.hpp"
#include "core/model/reason.hpp"
#include "core/queue/queue.hpp"
#include "core/requests/request_decision.hpp"

#include <optional>
#include <variant>

namespace genv::core {

/// The process or Jupyter kernel that starts or joins an environment. Empty: the request is for
/// more devices.
using Member = std::variant<std::monostate, RootProcess, JupyterKernel>;

/// A request that was carried out.
struct Granted {
    EnvironmentId environment;
    std::optional<Queue::Ticket> ticket; ///< set: it waits in the queue
};

/// Carries out a grant of decide(), for which nothing has changed since. Throws the errors of the
/// ledger; nothing has changed then.
Granted give(const DeviceRequest& request, const RequestGrant& grant, Member member,
             const Actor& actor, const RequestState& state);

/// Returns the environment for which a request of this process waited before a restart of the
/// service, or null.
const EnvironmentRecord* environmentThatWaited(const ProcessIdentity& process, Uid owner,
                                               const LedgerView& ledger, const Queue& queue);

/// Returns the environment in which a restarted Jupyter kernel goes on, with its devices, or null.
const EnvironmentRecord* environmentOfRestarted(const JupyterKernel& jupyterKernel, Uid owner,
                                                const LedgerView& ledger);

} // namespace genv::core
