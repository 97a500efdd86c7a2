// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/manager/activation.hpp"

#include "core/base/error.hpp"
#include "core/environments/root_process.hpp"
#include "core/ledger/supposition.hpp"
#include "dbus/calls/device_request.hpp"
#include "dbus/calls/environment_options.hpp"
#include "dbus/calls/named_process.hpp"
#include "dbus/calls/operation.hpp"
#include "dbus/calls/paths.hpp"
#include "dbus/calls/waiting_calls.hpp"
#include "dbus/manager/activation_options.hpp"
#include "dbus/manager/job_activation.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace genv::dbus {

namespace {

// A pending call of Activate. The functions that wait for the next step keep it alive.
class Activation : public Operation<Activation, ActivateReply> {
  public:
    Activation(const BusContext& context, ActivateReply reply, WantedActivation wanted)
        : Operation(std::move(reply)), context_(context), wanted_(std::move(wanted)) {}

    void start() {
        requireOwnerOfId();
        if (wanted_.within && parentSequence_ == 0) {
            const core::EnvironmentRecord& parent = context_.sharing.ledger.get(*wanted_.within);
            core::requireMayHaveChildren(parent);
            parentSequence_ = parent.sequence;
        }
        // It is only known whether to join or to start an environment once a pending end is
        // decided.
        if (joined() != nullptr && joined()->pendingEnd &&
            context_.sharing.lingering.isSettling() && !std::exchange(hasSettled_, true)) {
            context_.sharing.lingering.whenSettled(later(&Activation::start));
            return;
        }
        if (wanted_.waiting.wait)
            waits_ = context_.calls.waitingCalls.remember(reply_);
        reading_ = context_.calls.startingCalls.enter(actor());
        if (wanted_.jupyterKernel)
            findJupyterKernel();
        else
            pinProcess();
    }

  private:
    [[nodiscard]] core::Uid actor() const { return caller().uid; }

    void requireOwnerOfId() const {
        const core::EnvironmentRecord* existing =
            wanted_.id ? context_.sharing.ledger.find(*wanted_.id) : nullptr;
        if (existing != nullptr && existing->uid != wanted_.owner)
            core::fail(core::ErrorCode::AlreadyExists,
                       "environment {} exists already and belongs to {}", existing->id,
                       existing->user);
    }

    // Returns the parent of the environment to start, or null. If the parent ended and its id was
    // used again, it is a different one.
    [[nodiscard]] const core::EnvironmentRecord* parent() const {
        return wanted_.within
                   ? &sameEnvironment(context_.sharing.ledger, *wanted_.within, parentSequence_)
                   : nullptr;
    }

    void requireWithin(const core::EnvironmentRecord& existing) const {
        if (wanted_.within && existing.parent != wanted_.within)
            core::fail(core::ErrorCode::InvalidArgs,
                       "environment {} exists already and is not within environment {}; leave "
                       "within out to join it, or give another id",
                       existing.id, *wanted_.within);
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

    void takeOwner(const core::UserInfo& owner) {
        owner_ = owner;
        carryOutRequest();
    }

    // Resumes a wait after a restart of the service, when the client calls again. A request that
    // waited under an id that the service chose continues under this id.
    void resume() {
        if (wanted_.waiting.wait)
            context_.sharing.queue.requireNotDismissed(rootIdentity(), actor());
        const core::EnvironmentRecord* waiting =
            wanted_.waiting.wait && !wanted_.id
                ? context_.sharing.ledger.environmentOfRoot(rootIdentity())
                : nullptr;
        if (waiting != nullptr && waiting->uid == wanted_.owner &&
            context_.sharing.queue.isAbandoned(waiting->id))
            wanted_.id = waiting->id;
        resumeJupyterKernel();
    }

    // A restarted Jupyter kernel continues in its environment, with its devices.
    void resumeJupyterKernel() {
        if (!jupyterKernel_ || wanted_.id)
            return;
        const auto isIt = [this](const core::JupyterKernel& known) {
            return known.id == jupyterKernel_->id &&
                   (known.process.identity == rootIdentity() ||
                    (known.process.pin && known.process.pin->hasExited()));
        };
        for (const core::EnvironmentRecord* environment :
             context_.sharing.ledger.environmentsOf(wanted_.owner)) {
            if (std::ranges::any_of(environment->jupyterKernels, isIt)) {
                wanted_.id = environment->id;
                restarts_ = true;
                return;
            }
        }
    }

    // Returns the environment to join, or null if a new one is started.
    [[nodiscard]] const core::EnvironmentRecord* joined() const {
        return wanted_.id ? context_.sharing.ledger.find(*wanted_.id) : nullptr;
    }

    [[nodiscard]] core::Requester requester() const {
        const core::EnvironmentRecord* environment = joined();
        return environment != nullptr ? core::Requester(environment)
                                      : core::Requester(wanted_.owner);
    }

    [[nodiscard]] core::EnvironmentId id() const {
        return wanted_.id ? *wanted_.id : context_.sharing.ledger.freeId(rootIdentity().pid);
    }

    [[nodiscard]] core::ProcessIdentity rootIdentity() const {
        return jupyterKernel_ ? jupyterKernel_->process.identity : process_.facts.identity;
    }

    // Computes the request as if its process had already left the environment that lingers for it.
    // The process leaves only when the request is authorized and granted.
    template <typename Function>
    auto asIfDeparted(Function function) const {
        const core::Supposition supposition(
            context_.sharing.ledger, context_.sharing.ledger.departedBy(
                                         rootIdentity(), wanted_.owner, wanted_.id.value_or("")));
        return function();
    }

    void carryOutRequest() {
        const auto self = shared_from_this();
        DeviceRequest request;
        request.plan = [self] { return self->asIfDeparted([&] { return self->plan(); }); };
        request.target = [self](const std::optional<core::Plan>& plan) {
            return self->asIfDeparted([&] { return self->target(plan); });
        };
        request.stillHolds = [self](const core::Plan& plan) {
            return self->asIfDeparted([&] {
                return self->context_.sharing.queue.stillHolds(plan, self->requester(),
                                                               self->parent());
            });
        };
        request.quota = [self](const std::optional<core::Plan>& plan) {
            return self->asIfDeparted([&] { return self->quota(plan); });
        };
        request.apply = [self](const std::optional<core::Plan>& plan, bool exempt) {
            self->apply(plan, exempt);
        };
        request.mayWait = wanted_.waiting.wait;
        request.hold = [self] { return self->asIfDeparted([&] { return self->hold(); }); };
        carryOut(context_, reply_, std::move(request));
    }

    [[nodiscard]] std::optional<core::Plan> plan() const {
        requireOwnerOfId();
        const core::EnvironmentRecord* environment = joined();
        if (environment != nullptr)
            requireWithin(*environment);
        if (environment != nullptr && wanted_.waiting.lifetime && !wanted_.attach && !restarts_)
            core::fail(core::ErrorCode::InvalidArgs,
                       "environment {} exists already; configure its lifetime to extend it",
                       environment->id);
        if (!wanted_.attach)
            return std::nullopt;
        return planFor(context_, request(), environment,
                       environment == nullptr ? lifetime() : wanted_.waiting.lifetime,
                       wanted_.waiting, wanted_.owner, actor(),
                       environment == nullptr ? wanted_.configuration.preemptible
                                              : environment->configuration.preemptible,
                       parent());
    }

    [[nodiscard]] std::optional<core::Plan> hold() const {
        if (!wanted_.waiting.holdForQuota || lastingViolation())
            return std::nullopt;
        const core::Plan expected = *plan();
        const core::EnvironmentConfiguration& configuration =
            joined() != nullptr ? joined()->configuration : wanted_.configuration;
        return holdPlanFor(context_, request(), core::placementOf(expected), joined(), owner_,
                           actor(), core::willBeLoan(configuration, request()));
    }

    [[nodiscard]] core::AttachRequest request() const {
        const core::EnvironmentRecord* environment = joined();
        const core::EnvironmentConfiguration& configuration =
            environment != nullptr ? environment->configuration : wanted_.configuration;
        if (wanted_.named)
            return {wantedOf(*wanted_.named), std::nullopt, configuration.gpuMemory,
                    wanted_.overSubscribe};
        if (!configuration.gpus)
            core::fail(core::ErrorCode::InvalidArgs,
                       "attach needs a device count; give gpus, indices or uuids");
        return {core::CountWanted{*configuration.gpus}, wanted_.model, configuration.gpuMemory,
                wanted_.overSubscribe};
    }

    [[nodiscard]] policy::Target target(const std::optional<core::Plan>& plan) const {
        policy::Target target;
        target.environment = id();
        target.owner = wanted_.owner;
        target.ownerName = owner_.name;
        if (plan)
            addDevices(target, *plan, wanted_.overSubscribe, context_.sharing.ledger);
        if (const core::EnvironmentRecord* other = parentOfResult())
            addParent(target, *other);
        return target;
    }

    // Returns the parent of the environment to start or join, or null.
    [[nodiscard]] const core::EnvironmentRecord* parentOfResult() const {
        const core::EnvironmentRecord* environment = joined();
        return environment != nullptr ? context_.sharing.ledger.parentOf(*environment) : parent();
    }

    [[nodiscard]] core::QuotaViolation quota(const std::optional<core::Plan>& plan) const {
        if (parentOfResult() != nullptr)
            return std::nullopt; // its devices belong to the parent, and are counted there
        const core::Limits limits = context_.settings.current().limits.of(owner_);
        const core::EnvironmentRecord* environment = joined();
        const auto kept = keptFor(context_, wanted_.owner, environment, plan);
        const auto violation =
            environment == nullptr
                ? core::admitActivation(context_.sharing.ledger, owner_, limits, plan, kept,
                                        wanted_.configuration.preemptible)
            : plan
                ? core::admitAttachment(context_.sharing.ledger, *environment, limits, *plan, kept)
                : std::nullopt;
        return violation ? violation : lastingViolation();
    }

    // Checks the limits that no use of the quota satisfies later.
    [[nodiscard]] core::QuotaViolation lastingViolation() const {
        const core::Limits limits = context_.settings.current().limits.of(owner_);
        if (wanted_.waiting.lifetime) {
            if (auto violation = core::admitLifetime(limits, std::chrono::microseconds{0},
                                                     wanted_.waiting.lifetime))
                return violation;
        }
        if (joined() != nullptr)
            return std::nullopt;
        return core::admitConfiguration(
            limits, {std::nullopt, wanted_.configuration.gpus, wanted_.configuration.gpuMemory},
            wanted_.configuration.preemptible);
    }

    void apply(const std::optional<core::Plan>& plan, bool exempt) {
        requireOwnerOfId();
        core::Ledger& ledger = context_.sharing.ledger;
        const core::EnvironmentId id = asIfDeparted([&] { return this->id(); });
        const core::PlannedWait* wait = waitIn(plan);
        const auto abandoned = wait != nullptr && joined() != nullptr
                                   ? context_.sharing.queue.abandoned(id, wait->request)
                                   : std::nullopt;
        // The plan in the question was computed for the lifetime in the plan.
        const auto planned = plan ? core::placementOf(*plan).lifetime : std::nullopt;
        if (joined() == nullptr)
            ledger.activate(newEnvironment(id, exempt, planned ? planned : lifetime()), plan,
                            caller().actor());
        else
            join(id, abandoned ? std::nullopt : plan, exempt);
        if (wait == nullptr) {
            reply_.send(id, environmentPath(id));
            return;
        }
        awaitDevices(context_.sharing.queue, context_.calls.waitingCalls, reply_,
                     abandoned ? *abandoned : ledger.get(id).waits.back().ticket, owner_,
                     wanted_.waiting.timeout, [self = shared_from_this(), id] {
                         answerOnceWarned(self->context_, self->reply_, id, [self, id] {
                             self->reply_.send(id, environmentPath(id));
                         });
                     });
    }

    // The limit is also the default lifetime.
    [[nodiscard]] std::optional<std::chrono::seconds> lifetime() const {
        if (wanted_.waiting.lifetime || wanted_.within)
            return wanted_.waiting.lifetime;
        const auto max = context_.settings.current().limits.of(owner_).maxLifetime;
        if (!max)
            return std::nullopt;
        return std::max(std::chrono::floor<std::chrono::seconds>(*max), std::chrono::seconds{1});
    }

    [[nodiscard]] core::NewEnvironment
    newEnvironment(const core::EnvironmentId& id, bool exempt,
                   std::optional<std::chrono::seconds> lifetime) const {
        core::NewEnvironment environment{id, wanted_.owner, owner_.name, wanted_.configuration, {},
                                         {}, exempt,        lifetime};
        if (const core::EnvironmentRecord* within = parent())
            environment.parent = within->id;
        environment.priority = wanted_.waiting.priority;
        if (jupyterKernel_)
            environment.jupyterKernels.push_back(livingJupyterKernel());
        else
            environment.processes.push_back(core::adopt(process_, wanted_.owner, actor()));
        return environment;
    }

    void join(const core::EnvironmentId& id, const std::optional<core::Plan>& plan, bool exempt) {
        const core::Terms terms{exempt, wanted_.waiting.lifetime, wanted_.waiting.priority};
        if (jupyterKernel_)
            context_.sharing.ledger.addJupyterKernel(id, livingJupyterKernel(), caller().actor(),
                                                     plan, terms);
        else
            context_.sharing.ledger.addProcess(id, core::adopt(process_, wanted_.owner, actor()),
                                               caller().actor(), plan, terms);
    }

    [[nodiscard]] core::JupyterKernel livingJupyterKernel() const {
        if (jupyterKernel_->process.pin->hasExited())
            core::fail(core::ErrorCode::NoSuchProcess, "the process of the kernel {} has exited",
                       jupyterKernel_->id);
        return *jupyterKernel_;
    }

    const BusContext& context_;
    WantedActivation wanted_;
    core::PinnedProcess process_;
    core::ProcessIdentity jupyterKernelProcess_;
    std::optional<core::JupyterKernel> jupyterKernel_;
    bool restarts_ = false; ///< it is a restarted Jupyter kernel of an existing environment
    core::UserInfo owner_;
    bool hasSettled_ = false;
    std::uint64_t parentSequence_ = 0; ///< of the parent
    std::shared_ptr<void> reading_;    ///< counts the call while its process is read
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
