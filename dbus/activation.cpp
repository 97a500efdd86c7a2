// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/activation.hpp"

#include "core/error.hpp"
#include "core/root_process.hpp"
#include "core/supposition.hpp"
#include "dbus/activation_options.hpp"
#include "dbus/device_request.hpp"
#include "dbus/environment_options.hpp"
#include "dbus/job_activation.hpp"
#include "dbus/named_process.hpp"
#include "dbus/operation.hpp"
#include "dbus/paths.hpp"
#include "dbus/waiting_calls.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace genv::dbus {

namespace {

// A pending call of Activate. The functions that wait for the next step keep it alive.
class Activation : public Operation<Activation, ActivateReply> {
  public:
    Activation(const Context& context, ActivateReply reply, WantedActivation wanted)
        : Operation(std::move(reply)), context_(context), wanted_(std::move(wanted)) {}

    void start() {
        requireOwnerOfId();
        if (wanted_.within && parentSequence_ == 0) {
            const core::Environment& parent = context_.sharing.ledger.get(*wanted_.within);
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
        if (wanted_.kernel)
            findKernel();
        else
            pinProcess();
    }

  private:
    [[nodiscard]] core::Uid actor() const { return caller().uid; }

    void requireOwnerOfId() const {
        const core::Environment* existing =
            wanted_.id ? context_.sharing.ledger.find(*wanted_.id) : nullptr;
        if (existing != nullptr && existing->uid != wanted_.owner)
            core::fail(core::ErrorCode::AlreadyExists,
                       "environment {} exists already and belongs to {}", existing->id,
                       existing->user);
    }

    // Returns the parent of the environment to start, or null. If the parent ended and its id was
    // used again, it is a different one.
    [[nodiscard]] const core::Environment* parent() const {
        return wanted_.within
                   ? &sameEnvironment(context_.sharing.ledger, *wanted_.within, parentSequence_)
                   : nullptr;
    }

    void requireWithin(const core::Environment& existing) const {
        if (wanted_.within && existing.parent != wanted_.within)
            core::fail(core::ErrorCode::InvalidArgs,
                       "environment {} exists already and is not within environment {}; leave "
                       "within out to join it, or give another id",
                       existing.id, *wanted_.within);
    }

    void findKernel() {
        context_.machine.kernels.find(actor(), wanted_.owner, *wanted_.kernel, caller().pid,
                                      later(&Activation::pinKernel));
    }

    void pinKernel(const core::Kernels::Found& found) {
        kernelProcess_ = foundKernel(*wanted_.kernel, found);
        context_.machine.processes.pin(kernelProcess_.pid, actor(), later(&Activation::takeKernel));
    }

    void takeKernel(const core::ProcessRead<core::PinnedProcess>& read) {
        kernel_ = adoptKernel(context_.machine.processes, *wanted_.kernel, kernelProcess_,
                              read.get(), wanted_.owner);
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
        const core::Environment* waiting =
            wanted_.waiting.wait && !wanted_.id
                ? context_.sharing.ledger.environmentOfRoot(rootIdentity())
                : nullptr;
        if (waiting != nullptr && waiting->uid == wanted_.owner &&
            context_.sharing.queue.isAbandoned(waiting->id))
            wanted_.id = waiting->id;
        resumeKernel();
    }

    // A restarted kernel continues in its environment, with its devices.
    void resumeKernel() {
        if (!kernel_ || wanted_.id)
            return;
        const auto isIt = [this](const core::Kernel& known) {
            return known.id == kernel_->id &&
                   (known.process.identity == rootIdentity() ||
                    (known.process.pin && known.process.pin->hasExited()));
        };
        for (const core::EnvironmentId& id :
             context_.sharing.ledger.environmentsOf(wanted_.owner)) {
            const auto& kernels = context_.sharing.ledger.get(id).kernels;
            if (std::any_of(kernels.begin(), kernels.end(), isIt)) {
                wanted_.id = id;
                restarts_ = true;
                return;
            }
        }
    }

    // Returns the environment to join, or null if a new one is started.
    [[nodiscard]] const core::Environment* joined() const {
        return wanted_.id ? context_.sharing.ledger.find(*wanted_.id) : nullptr;
    }

    [[nodiscard]] core::Requester requester() const {
        const core::Environment* environment = joined();
        return environment != nullptr ? core::Requester(environment)
                                      : core::Requester(wanted_.owner);
    }

    [[nodiscard]] core::EnvironmentId id() const {
        return wanted_.id ? *wanted_.id : context_.sharing.ledger.freeId(rootIdentity().pid);
    }

    [[nodiscard]] core::ProcessIdentity rootIdentity() const {
        return kernel_ ? kernel_->process.identity : process_.facts.identity;
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
        const core::Environment* environment = joined();
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
                       wanted_.waiting, wanted_.owner, actor(), parent());
    }

    [[nodiscard]] std::optional<core::Plan> hold() const {
        if (!wanted_.waiting.holdForQuota || lastingViolation())
            return std::nullopt;
        const core::Plan expected = *plan();
        return holdPlanFor(context_, request(), core::placementOf(expected), joined(), owner_,
                           actor());
    }

    [[nodiscard]] core::AttachRequest request() const {
        const core::Environment* environment = joined();
        const core::Configuration& configuration =
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
        if (const core::Environment* other = parentOfResult())
            addParent(target, *other);
        return target;
    }

    // Returns the parent of the environment to start or join, or null.
    [[nodiscard]] const core::Environment* parentOfResult() const {
        const core::Environment* environment = joined();
        return environment != nullptr ? context_.sharing.ledger.parentOf(*environment) : parent();
    }

    [[nodiscard]] core::QuotaViolation quota(const std::optional<core::Plan>& plan) const {
        if (parentOfResult() != nullptr)
            return std::nullopt; // its devices belong to the parent, and are counted there
        const core::Limits limits = context_.settings.current().limits.of(owner_);
        const core::Environment* environment = joined();
        const auto kept = keptFor(context_, wanted_.owner, environment, plan);
        const auto violation =
            environment == nullptr
                ? core::admitActivation(context_.sharing.ledger, owner_, limits, plan, kept)
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
            limits, {std::nullopt, wanted_.configuration.gpus, wanted_.configuration.gpuMemory});
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
        if (const core::Environment* within = parent())
            environment.parent = within->id;
        environment.priority = wanted_.waiting.priority;
        if (kernel_)
            environment.kernels.push_back(livingKernel());
        else
            environment.processes.push_back(core::adopt(process_, wanted_.owner, actor()));
        return environment;
    }

    void join(const core::EnvironmentId& id, const std::optional<core::Plan>& plan, bool exempt) {
        const core::Terms terms{exempt, wanted_.waiting.lifetime, wanted_.waiting.priority};
        if (kernel_)
            context_.sharing.ledger.addKernel(id, livingKernel(), caller().actor(), plan, terms);
        else
            context_.sharing.ledger.addProcess(id, core::adopt(process_, wanted_.owner, actor()),
                                               caller().actor(), plan, terms);
    }

    [[nodiscard]] core::Kernel livingKernel() const {
        if (kernel_->process.pin->hasExited())
            core::fail(core::ErrorCode::NoSuchProcess, "the process of the kernel {} has exited",
                       kernel_->id);
        return *kernel_;
    }

    const Context& context_;
    WantedActivation wanted_;
    core::PinnedProcess process_;
    core::ProcessIdentity kernelProcess_;
    std::optional<core::Kernel> kernel_;
    bool restarts_ = false; ///< it is a restarted kernel of an existing environment
    core::UserInfo owner_;
    bool hasSettled_ = false;
    std::uint64_t parentSequence_ = 0; ///< of the parent
    std::shared_ptr<void> reading_;    ///< counts the call while its process is read
    std::shared_ptr<void> waits_;
};

} // namespace

void activate(const Context& context, const ActivateReply& reply, VariantMap options) {
    if (asksForJob(options)) {
        activateJob(context, reply, std::move(options));
        return;
    }
    auto wanted = readWantedActivation(std::move(options), reply.caller().uid);
    std::make_shared<Activation>(context, reply, std::move(wanted))->start();
}

} // namespace genv::dbus
