// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/activation.hpp"

#include "core/error.hpp"
#include "core/root_process.hpp"
#include "dbus/claim.hpp"
#include "dbus/environment_options.hpp"
#include "dbus/paths.hpp"

#include <memory>
#include <utility>

namespace genv::dbus {

namespace {

// What a call asks for.
struct Wanted {
    std::optional<core::EnvironmentId> id;
    core::Configuration configuration;
    bool attach = false;
    bool overSubscribe = false;
    core::Uid owner = 0;
    std::optional<core::Pid> pid;
    std::optional<sdbus::UnixFd> process;
    std::optional<std::string> kernel;
};

Wanted readWanted(VariantMap values, core::Uid caller) {
    Options options(std::move(values));
    Wanted wanted;
    wanted.id = options.take<std::string>("id");
    if (wanted.id)
        core::requireIdentifier(*wanted.id, "id");
    wanted.configuration.name = options.takeName("name");
    const auto gpus = options.take<std::uint32_t>("gpus");
    if (gpus && *gpus != 0)
        wanted.configuration.gpus = gpus;
    wanted.configuration.gpuMemory = options.takeMemory("gpu-memory");
    wanted.pid = options.take<std::uint32_t>("pid");
    wanted.process = options.take<sdbus::UnixFd>("process");
    wanted.kernel = options.take<std::string>("kernel");
    if (wanted.kernel)
        core::requireIdentifier(*wanted.kernel, "kernel");
    wanted.attach = options.take<bool>("attach").value_or(wanted.configuration.gpus.has_value());
    wanted.overSubscribe = options.takeFlag("over-subscribe");
    if (options.takeFlag("wait"))
        core::fail(core::ErrorCode::NotSupported,
                   "waiting is not supported by this version of the service");
    options.refuseUnsupported("timeout");
    options.refuseUnsupported("lifetime");
    wanted.owner = options.take<std::uint32_t>("uid").value_or(caller);
    options.finish();
    if (wanted.pid.has_value() + wanted.process.has_value() + wanted.kernel.has_value() > 1)
        core::fail(core::ErrorCode::InvalidArgs, "give only one of pid, process and kernel");
    return wanted;
}

// One call of Activate on its way; kept alive by the functions that wait for the next step.
class Activation : public std::enable_shared_from_this<Activation> {
  public:
    Activation(const Context& context, ActivateReply reply, Wanted wanted)
        : context_(context), reply_(std::move(reply)), wanted_(std::move(wanted)) {}

    // A step that comes later: guarded, and with this kept alive until then.
    template <typename Function>
    auto later(Function function) {
        return reply_.later(
            [self = shared_from_this(), function = std::move(function)](auto&&... arguments) {
                function(std::forward<decltype(arguments)>(arguments)...);
            });
    }

    void start() {
        requireOwnerOfId();
        if (wanted_.kernel) {
            context_.kernels.find(
                wanted_.owner, *wanted_.kernel,
                later([this](const std::optional<core::ProcessIdentity>& process) {
                    kernel_ =
                        pinKernel(context_.processes, *wanted_.kernel, process, wanted_.owner);
                    learnOwner();
                }));
            return;
        }
        pin_ = pinProcess();
        static_cast<void>(
            core::adopt(pin_, wanted_.owner, actor())); // refused before anybody is asked
        learnOwner();
    }

  private:
    [[nodiscard]] core::Uid actor() const { return reply_.caller().uid; }

    void requireOwnerOfId() const {
        const core::Environment* existing =
            wanted_.id ? context_.ledger.find(*wanted_.id) : nullptr;
        if (existing != nullptr && existing->uid != wanted_.owner)
            core::fail(core::ErrorCode::AlreadyExists,
                       "environment {} exists already and belongs to {}", existing->id,
                       existing->user);
    }

    [[nodiscard]] std::shared_ptr<const core::ProcessPin> pinProcess() const {
        if (wanted_.process)
            return context_.processes.pinDescriptor(wanted_.process->get());
        const core::Pid pid = wanted_.pid.value_or(reply_.caller().pid);
        if (pid == 0)
            core::fail(core::ErrorCode::InvalidArgs,
                       "give pid or process: the bus does not know the caller's");
        return context_.processes.pin(pid);
    }

    void learnOwner() {
        context_.users.describe(wanted_.owner, later([this](const core::UserInfo& owner) {
                                    owner_ = owner;
                                    claim();
                                }));
    }

    // The environment that is joined, or null when a new one starts.
    [[nodiscard]] const core::Environment* joined() const {
        return wanted_.id ? context_.ledger.find(*wanted_.id) : nullptr;
    }

    [[nodiscard]] core::EnvironmentId id() const {
        return wanted_.id ? *wanted_.id : context_.ledger.freeId(rootIdentity().pid);
    }

    [[nodiscard]] core::ProcessIdentity rootIdentity() const {
        return kernel_ ? kernel_->process.identity : pin_->facts().identity;
    }

    void claim() {
        const auto self = shared_from_this();
        Claim claim;
        claim.plan = [self] { return self->plan(); };
        claim.target = [self](const std::optional<core::Placement>& placement) {
            return self->target(placement);
        };
        claim.stillHolds = [self](const core::Placement& placement) {
            return core::stillHolds(placement, self->context_.ledger.devices(), self->joined());
        };
        claim.quota = [self](const std::optional<core::Placement>& placement) {
            return self->quota(placement);
        };
        claim.apply = [self](const std::optional<core::Placement>& placement, bool exempt) {
            self->apply(placement, exempt);
        };
        carryOut(context_, reply_, claim);
    }

    [[nodiscard]] std::optional<core::Placement> plan() const {
        requireOwnerOfId();
        if (!wanted_.attach)
            return std::nullopt;
        const core::Environment* environment = joined();
        const core::Configuration& configuration =
            environment != nullptr ? environment->configuration : wanted_.configuration;
        if (!configuration.gpus)
            core::fail(core::ErrorCode::InvalidArgs, "attach needs a device count; give gpus");
        const core::AttachRequest request{core::CountWanted{*configuration.gpus}, std::nullopt,
                                          configuration.gpuMemory, wanted_.overSubscribe};
        return core::place(request, context_.ledger.devices(), environment);
    }

    [[nodiscard]] policy::Target target(const std::optional<core::Placement>& placement) const {
        policy::Target target;
        target.environment = id();
        target.owner = wanted_.owner;
        target.ownerName = owner_.name;
        if (placement)
            claimInto(target, *placement, wanted_.overSubscribe);
        return target;
    }

    [[nodiscard]] core::QuotaViolation
    quota(const std::optional<core::Placement>& placement) const {
        const core::Limits limits = context_.settings().limits.of(owner_);
        if (const core::Environment* environment = joined())
            return placement
                       ? core::admitAttachment(context_.ledger, *environment, limits, *placement)
                       : std::nullopt;
        if (auto violation = core::admitActivation(context_.ledger, owner_, limits, placement))
            return violation;
        return core::admitConfiguration(
            limits, {std::nullopt, wanted_.configuration.gpus, wanted_.configuration.gpuMemory});
    }

    void apply(const std::optional<core::Placement>& placement, bool exempt) {
        requireOwnerOfId();
        core::Ledger& ledger = context_.ledger;
        const core::EnvironmentId id = this->id();
        if (ledger.find(id) == nullptr)
            ledger.activate(newEnvironment(id, exempt), placement, actor());
        else
            join(id, placement, exempt);
        reply_.send(id, environmentPath(id));
    }

    [[nodiscard]] core::NewEnvironment newEnvironment(const core::EnvironmentId& id,
                                                      bool exempt) const {
        core::NewEnvironment environment{id, wanted_.owner, owner_.name, wanted_.configuration, {},
                                         {}, exempt};
        if (kernel_)
            environment.kernels.push_back(livingKernel());
        else
            environment.processes.push_back(core::adopt(pin_, wanted_.owner, actor()));
        return environment;
    }

    void join(const core::EnvironmentId& id, const std::optional<core::Placement>& placement,
              bool exempt) {
        if (kernel_)
            context_.ledger.addKernel(id, livingKernel(), actor(), placement, exempt);
        else
            context_.ledger.addProcess(id, core::adopt(pin_, wanted_.owner, actor()), actor(),
                                       placement, exempt);
    }

    [[nodiscard]] core::Kernel livingKernel() const {
        if (kernel_->process.pin->hasExited())
            core::fail(core::ErrorCode::NoSuchProcess, "the process of the kernel {} has exited",
                       kernel_->id);
        return *kernel_;
    }

    const Context& context_;
    const ActivateReply reply_;
    const Wanted wanted_;
    std::shared_ptr<const core::ProcessPin> pin_;
    std::optional<core::Kernel> kernel_;
    core::UserInfo owner_;
};

} // namespace

void activate(const Context& context, const ActivateReply& reply, VariantMap options) {
    auto wanted = readWanted(std::move(options), reply.caller().uid);
    std::make_shared<Activation>(context, reply, std::move(wanted))->start();
}

} // namespace genv::dbus
