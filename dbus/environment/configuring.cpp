// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/environment/configuring.hpp"

#include "core/base/error.hpp"
#include "core/limits/admission.hpp"
#include "dbus/calls/environment_options.hpp"
#include "dbus/calls/operation.hpp"
#include "dbus/environment/job_extension.hpp"

#include <memory>

namespace genv::dbus {

namespace {

// A pending call of Configure.
class Configuring : public Operation<Configuring, Reply<>> {
  public:
    Configuring(const BusContext& context, const Reply<>& reply,
                const core::EnvironmentRecord& environment,
                const core::EnvironmentConfigurationChange& change)
        : Operation(reply), context_(context), id_(environment.id), sequence_(environment.sequence),
          change_(change) {}

    void start() {
        requireMayLend(environment().parent.has_value(), change_.preemptible);
        if (change_.lifetime && *change_.lifetime)
            core::requireLease(environment()); // refuses the call before polkit is asked
        context_.calls.gate.pass(reply_, core::targetOf(environment()),
                                 later(&Configuring::learnOwner));
    }

  private:
    [[nodiscard]] const core::EnvironmentRecord& environment() const {
        return core::sameEnvironment(context_.sharing.ledger, id_, sequence_);
    }

    void learnOwner() {
        context_.machine.users.describe(environment().uid, later(&Configuring::admit));
    }

    void admit(const core::UserInfo& owner) {
        if (const core::QuotaViolation violation = violationOf(owner))
            context_.calls.gate.passQuota(reply_, core::targetOf(environment()), *violation,
                                          later(&Configuring::applyExempt));
        else
            apply(false);
    }

    [[nodiscard]] core::QuotaViolation violationOf(const core::UserInfo& owner) const {
        if (environment().parent)
            return std::nullopt; // the limits apply to its parent
        const core::Limits limits = context_.settings.current().limits.of(owner);
        auto violation =
            core::admitConfiguration(limits, change_, environment().configuration.preemptible);
        if (!violation && change_.preemptible == core::Preemptible::No)
            violation = core::admitEndOfLoan(context_.sharing.ledger, environment(), limits);
        if (!violation && change_.lifetime)
            violation = core::admitLifetime(
                limits, context_.runtime.clock.bootNow() - environment().began, *change_.lifetime);
        return violation;
    }

    void applyExempt() { apply(true); }

    void apply(bool exempt) {
        context_.sharing.ledger.configure(environment().id, change_, caller().actor(), exempt);
        reply_.send();
    }

    const BusContext& context_;
    const core::EnvironmentId id_;
    const std::uint64_t sequence_;
    const core::EnvironmentConfigurationChange change_;
};

} // namespace

void configure(const BusContext& context, const Reply<>& reply,
               const core::EnvironmentRecord& environment,
               const core::EnvironmentConfigurationChange& change) {
    if (environment.job)
        extendJob(context, reply, environment, change);
    else
        std::make_shared<Configuring>(context, reply, environment, change)->start();
}

} // namespace genv::dbus
