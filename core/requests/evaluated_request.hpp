// SPDX-License-Identifier: LGPL-2.1-or-later
// A request for devices as things are now: its devices, the target of the question for polkit, and
// whether it is within the limits. Nothing is changed. A process that starts or joins an
// environment counts as having left the one that lingers for it.
#pragma once

#include "core/ledger/supposition.hpp"
#include "core/limits/admission.hpp"
#include "core/model/target.hpp"
#include "core/queue/queue.hpp"
#include "core/requests/device_request.hpp"

#include <chrono>
#include <optional>

namespace genv::core {

/// The state against which a request is evaluated.
struct RequestState {
    Ledger& ledger; ///< which is not changed
    const Queue& queue;
    const Limits& limits; ///< of the owner
    bool isSettling;      ///< environments are just ending, whose devices may become free
};

class EvaluatedRequest {
  public:
    /// Both arguments must outlive this object. Meanwhile the ledger must not change. Throws
    /// Error(NoSuchEnvironment) if an environment of the request has ended.
    EvaluatedRequest(const DeviceRequest& request, const RequestState& state);

    /// Returns the plan of the request, or nothing if no devices are wanted. A request that waited
    /// before a restart of the service keeps its position in the queue. Throws the errors of
    /// Queue::place() and Queue::requireRoom(), and others if the request is not possible.
    [[nodiscard]] std::optional<Plan> plan() const;
    /// Returns Queue::stillHolds() for a plan of this request.
    [[nodiscard]] bool stillHolds(const Plan& plan) const;
    /// Returns the target of the question for polkit.
    [[nodiscard]] Target target(const std::optional<Plan>& plan) const;
    /// Returns the limit that the plan exceeds.
    [[nodiscard]] QuotaViolation violation(const std::optional<Plan>& plan) const;
    /// Returns the plan of a request that exceeds a quota now and may be held back until it does
    /// not; nothing if it may not, or if no use of the quota allows it. Throws as plan() does.
    [[nodiscard]] std::optional<Plan> heldPlan() const;

    /// Returns the id of the environment, or the one that a new environment would get.
    [[nodiscard]] EnvironmentId id() const;
    /// Returns the environment that gets the devices, or null if the request starts one.
    [[nodiscard]] const EnvironmentRecord* environment() const { return environment_; }
    /// Returns the ticket of a request that waited before a restart of the service and is this one.
    [[nodiscard]] std::optional<Queue::Ticket> abandoned(const AttachRequest& request) const;
    /// Returns the lifetime of the devices, or that of a new environment.
    [[nodiscard]] std::optional<std::chrono::seconds> lifetime() const;

  private:
    [[nodiscard]] const EnvironmentRecord* find() const;
    void requirePossible() const;
    [[nodiscard]] AttachRequest devices() const;
    [[nodiscard]] EnvironmentConfiguration configuration() const;
    [[nodiscard]] Requester requester() const;
    [[nodiscard]] Plan planned(const AttachRequest& request) const;
    [[nodiscard]] Plan planToTake(const AttachRequest& request) const;
    [[nodiscard]] const EnvironmentRecord* parentOfResult() const;
    [[nodiscard]] KeptForUser kept(const std::optional<Plan>& plan) const;
    [[nodiscard]] QuotaViolation violationNow(const std::optional<Plan>& plan) const;
    [[nodiscard]] QuotaViolation violationOfEndedLoan() const;
    [[nodiscard]] QuotaViolation lastingViolation() const;

    const DeviceRequest& request_;
    const RequestState& state_;
    const WantedEnvironment* const starts_; ///< null: more devices for an environment
    const WantedDevices* const adds_;       ///< null: an environment is started or joined
    const Supposition departed_;
    const EnvironmentRecord* const within_; ///< the parent that the request names, or null
    const EnvironmentRecord* const environment_;
};

/// Adds the devices of a plan to a target, with the holders who did not consent to share them.
void addDevices(Target& target, const Plan& plan, bool overSubscribe, const LedgerView& ledger);

/// Returns the wait of a plan, or null.
const PlannedWait* waitIn(const std::optional<Plan>& plan);

} // namespace genv::core
