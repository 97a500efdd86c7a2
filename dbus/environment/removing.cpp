// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/environment/removing.hpp"

#include "core/base/error.hpp"
#include "dbus/calls/environment_options.hpp"
#include "dbus/calls/named_process.hpp"
#include "dbus/calls/operation.hpp"

#include <algorithm>
#include <memory>

namespace genv::dbus {

namespace {

// A pending call.
class RemovingProcess : public Operation<RemovingProcess, Reply<>> {
  public:
    RemovingProcess(const BusContext& context, const Reply<>& reply,
                    const core::EnvironmentRecord& environment, core::Pid pid)
        : Operation(reply), sharing_(context.sharing), processes_(context.machine.processes),
          calls_(context.calls), id_(environment.id), sequence_(environment.sequence), pid_(pid) {}

    void start() {
        whenPidIsOurs(calls_, processes_, reply_, pid_,
                      [self = shared_from_this()] { self->ask(); });
    }

    /// Starts with a PID of the service's namespace.
    void ask() {
        requireRegistered();
        calls_.gate.pass(reply_, core::targetOf(environment()), later(&RemovingProcess::remove));
    }

  private:
    [[nodiscard]] const core::EnvironmentRecord& environment() const {
        return core::sameEnvironment(sharing_.ledger, id_, sequence_);
    }

    void requireRegistered() const {
        const auto& processes = environment().processes;
        const auto isIt = [this](const core::RootProcess& process) {
            return process.identity.pid == pid_;
        };
        if (std::none_of(processes.begin(), processes.end(), isIt))
            core::fail(core::ErrorCode::NoSuchProcess,
                       "process {} is not registered with environment {}", pid_, id_);
    }

    void remove() {
        sharing_.ledger.removeProcess(environment().id, pid_, caller().actor());
        sendWhenSettled(sharing_, reply_, id_);
    }

    const SharingParts& sharing_;
    core::Processes& processes_;
    const Calls& calls_;
    const core::EnvironmentId id_;
    const std::uint64_t sequence_;
    const core::Pid pid_;
};

} // namespace

void removeProcess(const BusContext& context, const Reply<>& reply,
                   const core::EnvironmentRecord& environment, core::Pid pid) {
    std::make_shared<RemovingProcess>(context, reply, environment, pid)->start();
}

void removeProcessByPidfd(const BusContext& context, const Reply<>& reply,
                          const core::EnvironmentRecord& environment, int pidfd) {
    const core::Pid pid = context.machine.processes.pidOf(pidfd);
    std::make_shared<RemovingProcess>(context, reply, environment, pid)->ask();
}

void sendWhenSettled(const SharingParts& sharing, const Reply<>& reply,
                     const core::EnvironmentId& id) {
    const core::EnvironmentRecord* environment = sharing.ledger.find(id);
    if (environment != nullptr && environment->pendingEnd)
        sharing.lingering.whenSettled(reply.later([reply] { reply.send(); }));
    else
        reply.send();
}

} // namespace genv::dbus
