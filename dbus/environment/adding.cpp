// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/environment/adding.hpp"

#include "core/base/error.hpp"
#include "core/environments/root_process.hpp"
#include "dbus/calls/environment_options.hpp"
#include "dbus/calls/named_process.hpp"
#include "dbus/calls/operation.hpp"

#include <memory>
#include <utility>

namespace genv::dbus {

namespace {

// A pending call of AddProcess.
class AddingProcess : public Operation<AddingProcess, Reply<>> {
  public:
    AddingProcess(const BusContext& context, const Reply<>& reply,
                  const core::EnvironmentRecord& environment, core::Pid pid)
        : Operation(reply), ledger_(context.sharing.ledger), processes_(context.machine.processes),
          calls_(context.calls), id_(environment.id), sequence_(environment.sequence), pid_(pid) {}

    void start() {
        whenPidIsOurs(calls_, processes_, reply_, pid_,
                      [self = shared_from_this()] { self->pin(); });
    }

  private:
    void pin() {
        reading_ = calls_.startingCalls.enter(caller().uid);
        processes_.pin(pid_, caller().uid, later(&AddingProcess::ask));
    }

    [[nodiscard]] const core::EnvironmentRecord& environment() const {
        return core::sameEnvironment(ledger_, id_, sequence_);
    }

    void ask(const core::ProcessRead<core::PinnedProcess>& read) {
        process_ = read.get();
        reading_.reset();
        static_cast<void>(adopted()); // refuses the call before polkit is asked
        calls_.gate.pass(reply_, core::targetOf(environment()), later(&AddingProcess::add));
    }

    void add() {
        ledger_.addProcess(id_, adopted(), caller().actor());
        reply_.send();
    }

    [[nodiscard]] core::RootProcess adopted() const {
        return core::adopt(process_, environment().uid, caller().uid);
    }

    core::Ledger& ledger_;
    core::Processes& processes_;
    const Calls& calls_;
    const core::EnvironmentId id_;
    const std::uint64_t sequence_;
    const core::Pid pid_;
    core::PinnedProcess process_;
    std::shared_ptr<void> reading_; ///< counts the call while the process is read
};

// A pending call of AddKernel.
class AddingJupyterKernel : public Operation<AddingJupyterKernel, Reply<>> {
  public:
    AddingJupyterKernel(const BusContext& context, const Reply<>& reply,
                        const core::EnvironmentRecord& environment, std::string jupyterKernel)
        : Operation(reply), ledger_(context.sharing.ledger), machine_(context.machine),
          calls_(context.calls), id_(environment.id), sequence_(environment.sequence),
          jupyterKernel_(std::move(jupyterKernel)) {}

    // The search starts only once the caller is authorized to add a Jupyter kernel, so that nobody
    // can trigger useless searches.
    void start() {
        core::requireIdentifier(jupyterKernel_, "kernel");
        calls_.gate.pass(reply_, core::targetOf(environment()), later(&AddingJupyterKernel::find));
    }

  private:
    [[nodiscard]] const core::EnvironmentRecord& environment() const {
        return core::sameEnvironment(ledger_, id_, sequence_);
    }

    void find() {
        const core::Uid owner = environment().uid;
        searching_ = calls_.listCalls.enter(caller().uid);
        machine_.jupyterKernels.find(caller().uid, owner, jupyterKernel_, caller().pid,
                                     later(&AddingJupyterKernel::pin));
    }

    void pin(const core::JupyterKernels::Found& found) {
        process_ = foundJupyterKernel(jupyterKernel_, found);
        machine_.processes.pin(process_.pid, caller().uid, later(&AddingJupyterKernel::add));
    }

    void add(const core::ProcessRead<core::PinnedProcess>& pinned) {
        ledger_.addJupyterKernel(id_,
                                 adoptJupyterKernel(machine_.processes, jupyterKernel_, process_,
                                                    pinned.get(), environment().uid),
                                 caller().actor());
        reply_.send();
    }

    core::Ledger& ledger_;
    const MachineParts& machine_;
    const Calls& calls_;
    const core::EnvironmentId id_;
    const std::uint64_t sequence_;
    const std::string jupyterKernel_;
    core::ProcessIdentity process_;
    std::shared_ptr<void> searching_; ///< counts the call until the Jupyter kernel is added
};

} // namespace

void addProcess(const BusContext& context, const Reply<>& reply,
                const core::EnvironmentRecord& environment, core::Pid pid) {
    std::make_shared<AddingProcess>(context, reply, environment, pid)->start();
}

void addJupyterKernel(const BusContext& context, const Reply<>& reply,
                      const core::EnvironmentRecord& environment, std::string jupyterKernel) {
    std::make_shared<AddingJupyterKernel>(context, reply, environment, std::move(jupyterKernel))
        ->start();
}

} // namespace genv::dbus
