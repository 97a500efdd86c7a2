// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/manager/activation.hpp"

#include "core/base/error.hpp"
#include "core/environments/root_process.hpp"
#include "dbus/calls/environment_options.hpp"
#include "dbus/calls/granting.hpp"
#include "dbus/calls/named_process.hpp"
#include "dbus/calls/operation.hpp"
#include "dbus/calls/paths.hpp"
#include "dbus/calls/waiting_calls.hpp"
#include "dbus/manager/activation_options.hpp"
#include "dbus/manager/job_activation.hpp"

#include <memory>
#include <utility>

namespace genv::dbus {

namespace {

// A pending call of Activate. The functions that wait for the next step keep it alive.
class Activation : public Operation<Activation, ActivateReply> {
  public:
    Activation(const BusContext& context, ActivateReply reply, WantedActivation wanted)
        : Operation(std::move(reply)), context_(context), wanted_(std::move(wanted)),
          environment_(std::move(wanted_.environment)) {}

    void start() {
        core::requireOwnerOf(environment_.id, wanted_.owner, context_.sharing.ledger);
        if (environment_.within && environment_.parentSequence == 0) {
            const core::EnvironmentRecord& parent =
                context_.sharing.ledger.get(*environment_.within);
            core::requireMayHaveChildren(parent);
            environment_.parentSequence = parent.sequence;
        }
        // It is only known whether to join or to start an environment once a pending end is
        // decided.
        if (mayJoinAnEnding() && context_.sharing.lingering.isSettling() &&
            !std::exchange(hasSettled_, true)) {
            context_.sharing.lingering.whenSettled(later(&Activation::start));
            return;
        }
        if (wanted_.terms.wait)
            waits_ = context_.calls.waitingCalls.remember(reply_);
        reading_ = context_.calls.startingCalls.enter(actor());
        if (wanted_.jupyterKernel)
            findJupyterKernel();
        else
            pinProcess();
    }

  private:
    [[nodiscard]] core::Uid actor() const { return caller().uid; }

    [[nodiscard]] bool mayJoinAnEnding() const {
        const core::EnvironmentRecord* joined =
            environment_.id ? context_.sharing.ledger.find(*environment_.id) : nullptr;
        return joined != nullptr && joined->pendingEnd;
    }

    void findJupyterKernel() {
        context_.machine.jupyterKernels.find(actor(), wanted_.owner, *wanted_.jupyterKernel,
                                             caller().pid, later(&Activation::pinJupyterKernel));
    }

    void pinJupyterKernel(const core::JupyterKernels::Found& found) {
        jupyterKernelProcess_ = foundJupyterKernel(*wanted_.jupyterKernel, found);
        context_.machine.processes.pin(jupyterKernelProcess_.pid, actor(),
                                       later(&Activation::takeJupyterKernel));
    }

    void takeJupyterKernel(const core::ProcessRead<core::PinnedProcess>& read) {
        jupyterKernel_ = adoptJupyterKernel(context_.machine.processes, *wanted_.jupyterKernel,
                                            jupyterKernelProcess_, read.get(), wanted_.owner);
        learnOwner();
    }

    void pinProcess() {
        if (wanted_.process) {
            context_.machine.processes.pinDescriptor(wanted_.process->get(), actor(),
                                                     later(&Activation::takeProcess));
            return;
        }
        const core::Pid pid = wanted_.pid.value_or(caller().pid);
        if (pid == 0)
            core::fail(core::ErrorCode::InvalidArgs,
                       "give pid or process: the bus does not know the caller's");
        whenPidIsOurs(context_.calls, context_.machine.processes, reply_, pid,
                      [self = shared_from_this(), pid] {
                          self->context_.machine.processes.pin(
                              pid, self->actor(), self->later(&Activation::takeProcess));
                      });
    }

    void takeProcess(const core::ProcessRead<core::PinnedProcess>& read) {
        process_ = read.get();
        // Refuses the call before polkit is asked.
        static_cast<void>(core::adopt(process_, wanted_.owner, actor()));
        learnOwner();
    }

    void learnOwner() {
        reading_.reset();
        resume();
        context_.machine.users.describe(wanted_.owner, later(&Activation::takeOwner));
    }

    // A request that waited before a restart of the service, and a restarted Jupyter kernel, go on
    // in their environment.
    void resume() {
        environment_.process =
            jupyterKernel_ ? jupyterKernel_->process.identity : process_.facts.identity;
        const core::Ledger& ledger = context_.sharing.ledger;
        core::Queue& queue = context_.sharing.queue;
        if (wanted_.terms.wait)
            queue.requireNotDismissed(environment_.process, actor());
        if (environment_.id)
            return;
        const core::EnvironmentRecord* existing =
            wanted_.terms.wait
                ? core::environmentThatWaited(environment_.process, wanted_.owner, ledger, queue)
                : nullptr;
        if (existing == nullptr && jupyterKernel_) {
            existing = core::environmentOfRestarted(*jupyterKernel_, wanted_.owner, ledger);
            environment_.restarts = existing != nullptr;
        }
        if (existing != nullptr)
            environment_.id = existing->id;
    }

    void takeOwner(const core::UserInfo& owner) {
        carryOut(
            context_, reply_, {environment_, owner, actor(), wanted_.terms},
            [self = shared_from_this()] { return self->member(); },
            [self = shared_from_this(), owner](const core::Granted& granted) {
                self->take(granted, owner);
            });
    }

    void take(const core::Granted& granted, const core::UserInfo& owner) {
        const core::EnvironmentId& id = granted.environment;
        if (!granted.ticket) {
            reply_.send(id, environmentPath(id));
            return;
        }
        awaitDevices(context_.sharing.queue, context_.calls.waitingCalls, reply_, *granted.ticket,
                     owner, wanted_.terms.timeout, [self = shared_from_this(), id] {
                         answerOnceWarned(self->context_, self->reply_, id, [self, id] {
                             self->reply_.send(id, environmentPath(id));
                         });
                     });
    }

    [[nodiscard]] core::Member member() const {
        if (jupyterKernel_)
            return livingJupyterKernel();
        return core::adopt(process_, wanted_.owner, actor());
    }

    [[nodiscard]] core::JupyterKernel livingJupyterKernel() const {
        if (jupyterKernel_->process.pin->hasExited())
            core::fail(core::ErrorCode::NoSuchProcess, "the process of the kernel {} has exited",
                       jupyterKernel_->id);
        return *jupyterKernel_;
    }

    const BusContext& context_;
    WantedActivation wanted_;
    core::WantedEnvironment environment_;
    core::PinnedProcess process_;
    core::ProcessIdentity jupyterKernelProcess_;
    std::optional<core::JupyterKernel> jupyterKernel_;
    bool hasSettled_ = false;
    std::shared_ptr<void> reading_; ///< counts the call while its process is read
    std::shared_ptr<void> waits_;
};

} // namespace

void activate(const BusContext& context, const ActivateReply& reply, VariantMap options) {
    if (asksForJob(options)) {
        activateJob(context, reply, std::move(options));
        return;
    }
    auto wanted = readWantedActivation(std::move(options), reply.caller().uid);
    std::make_shared<Activation>(context, reply, std::move(wanted))->start();
}

} // namespace genv::dbus
