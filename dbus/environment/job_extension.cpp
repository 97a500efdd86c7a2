// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/environment/job_extension.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/limits/admission.hpp"
#include "dbus/calls/environment_options.hpp"
#include "dbus/calls/operation.hpp"

#include <memory>
#include <optional>

namespace genv::dbus {

namespace {

constexpr std::size_t maxReason = 512;

// A pending call.
class JobExtension : public Operation<JobExtension, Reply<>> {
  public:
    JobExtension(const BusContext& context, const Reply<>& reply,
                 const core::EnvironmentRecord& environment, std::chrono::seconds lifetime)
        : Operation(reply), context_(context), id_(environment.id), sequence_(environment.sequence),
          job_(environment.job->id), lifetime_(lifetime) {}

    void start() {
        policy::Target target = core::targetOf(environment());
        target.extendsJob = true;
        context_.calls.gate.pass(reply_, target, later(&JobExtension::learnOwner));
    }

  private:
    [[nodiscard]] const core::EnvironmentRecord& environment() const {
        return core::sameEnvironment(context_.sharing.ledger, id_, sequence_);
    }

    void learnOwner() {
        context_.machine.users.describe(environment().uid, later(&JobExtension::ask));
    }

    // MaxLifetime applies to everybody except root, since it is the only limit for users who may
    // extend jobs.
    void ask(const core::UserInfo& owner) {
        const core::EnvironmentRecord& job = environment();
        if (job.job->isInferred) // the job was found by its processes, and its user is a guess
            core::fail(core::ErrorCode::NotSupported,
                       "no prolog told genv of Slurm job {}, so genv cannot extend it", job_);
        const auto violation =
            core::admitLifetime(context_.settings.current().limits.of(owner),
                                context_.runtime.clock.bootNow() - job.began, lifetime_);
        if (violation && caller().uid != 0)
            core::fail(core::ErrorCode::QuotaExceeded, "{}", *violation);
        end_ = context_.runtime.clock.wallNow() + lifetime_;
        if (job.jobEnd() && *job.jobEnd() >= end_) { // an extension never shortens a lifetime
            reply_.send();
            return;
        }
        place_ = context_.calls.listCalls.enter(caller().uid);
        context_.machine.slurm.setEnd(job_, end_, later(&JobExtension::finish));
    }

    void finish(const std::optional<core::SlurmFailure>& failure) {
        place_.reset();
        if (failure)
            core::fail(core::ErrorCode::SlurmFailed, "Slurm job {} was not extended: {}", job_,
                       core::escaped(failure->reason, maxReason));
        context_.sharing.ledger.setJobEnd(environment().id, end_);
        reply_.send();
    }

    const BusContext& context_;
    const core::EnvironmentId id_;
    const std::uint64_t sequence_;
    const core::SlurmJobId job_;
    const std::chrono::seconds lifetime_;
    core::WallTime end_{};
    std::shared_ptr<void> place_; ///< counts the call while it waits for Slurm
};

} // namespace

void extendJob(const BusContext& context, const Reply<>& reply,
               const core::EnvironmentRecord& environment,
               const core::EnvironmentConfigurationChange& change) {
    const auto lifetime = change.lifetime.value_or(std::nullopt);
    if (!lifetime || change.name || change.gpus || change.gpuMemory || change.overSubscribable ||
        change.preemptible)
        core::requireNoJob(environment);
    std::make_shared<JobExtension>(context, reply, environment, *lifetime)->start();
}

} // namespace genv::dbus
