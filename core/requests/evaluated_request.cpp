// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/requests/evaluated_request.hpp"

#include "core/base/error.hpp"
#include "core/ledger/holdings.hpp"
#include "core/placement/consent.hpp"
#include "core/queue/quota_hold.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

namespace {

void addHolders(HeldDevices& held, const Placement::Device& device, const LedgerView& ledger) {
    if (!device.withoutConsent.empty())
        held.indices.push_back(device.facts.index);
    for (const EnvironmentId& id : device.withoutConsent) {
        const EnvironmentRecord* environment = ledger.find(id);
        if (environment != nullptr && std::ranges::find(held.holders, environment->uid,
                                                        &DeviceHolder::uid) == held.holders.end())
            held.holders.push_back({environment->uid, environment->user});
    }
}

// Returns the environment as if the process of the request had left it, or nothing.
std::optional<EnvironmentRecord> departure(const WantedEnvironment* starts, Uid owner,
                                           const LedgerView& ledger) {
    if (starts == nullptr)
        return std::nullopt;
    return ledger.departedBy(starts->process, owner, starts->id.value_or(""));
}

} // namespace

EvaluatedRequest::EvaluatedRequest(const DeviceRequest& request, const RequestState& state)
    : request_(request), state_(state), starts_(std::get_if<WantedEnvironment>(&request.wanted)),
      adds_(std::get_if<WantedDevices>(&request.wanted)),
      departed_(state.ledger, departure(starts_, request.owner.uid, state.ledger)),
      within_(starts_ != nullptr && starts_->within
                  ? &sameEnvironment(state.ledger, *starts_->within, starts_->parentSequence)
                  : nullptr),
      environment_(find()) {}

const EnvironmentRecord* EvaluatedRequest::find() const {
    if (adds_ != nullptr)
        return &sameEnvironment(state_.ledger, adds_->environment, adds_->sequence);
    return starts_->id ? state_.ledger.find(*starts_->id) : nullptr;
}

EnvironmentId EvaluatedRequest::id() const {
    if (environment_ != nullptr)
        return environment_->id;
    return starts_->id ? *starts_->id : state_.ledger.freeId(starts_->process.pid);
}

// The plan in the question is computed for this lifetime.
std::optional<std::chrono::seconds> EvaluatedRequest::lifetime() const {
    if (environment_ != nullptr)
        return request_.terms.lifetime;
    return lifetimeOfNew(request_.terms.lifetime, within_ != nullptr, state_.limits.maxLifetime);
}

std::optional<Queue::Ticket> EvaluatedRequest::abandoned(const AttachRequest& request) const {
    return environment_ != nullptr ? state_.queue.abandoned(environment_->id, request)
                                   : std::nullopt;
}

void EvaluatedRequest::requirePossible() const {
    if (adds_ != nullptr) {
        if (adds_->resumes && !abandoned(adds_->request))
            requireParked(*environment_);
        return;
    }
    requireOwnerOf(starts_->id, request_.owner.uid, state_.ledger);
    if (environment_ == nullptr)
        return;
    if (starts_->within && environment_->parent != starts_->within)
        fail(ErrorCode::InvalidArgs,
             "environment {} exists already and is not within environment {}; leave within out to "
             "join it, or give another id",
             environment_->id, *starts_->within);
    if (request_.terms.lifetime && !starts_->attach && !starts_->restarts)
        fail(ErrorCode::InvalidArgs,
             "environment {} exists already; configure its lifetime to extend it",
             environment_->id);
}

EnvironmentConfiguration EvaluatedRequest::configuration() const {
    EnvironmentConfiguration result =
        environment_ != nullptr ? environment_->configuration : starts_->configuration;
    if (adds_ != nullptr && adds_->preemptible)
        result.preemptible = *adds_->preemptible;
    return result;
}

AttachRequest EvaluatedRequest::devices() const {
    if (adds_ != nullptr)
        return adds_->request;
    const EnvironmentConfiguration configured = configuration();
    if (!std::holds_alternative<CountWanted>(starts_->named))
        return {starts_->named, std::nullopt, configured.gpuMemory, starts_->overSubscribe};
    if (!configured.gpus)
        fail(ErrorCode::InvalidArgs, "attach needs a device count; give gpus, indices or uuids");
    return {CountWanted{*configured.gpus}, starts_->model, configured.gpuMemory,
            starts_->overSubscribe};
}

Requester EvaluatedRequest::requester() const {
    return environment_ != nullptr ? Requester(environment_) : Requester(request_.owner.uid);
}

std::optional<Plan> EvaluatedRequest::plan() const {
    requirePossible();
    if (starts_ != nullptr && !starts_->attach)
        return std::nullopt;
    return planned(devices());
}

Plan EvaluatedRequest::planned(const AttachRequest& request) const {
    if (!request_.terms.wait)
        return planToTake(request);
    Requester waiting = requester();
    waiting.needsConsent = needsConsentToWait(request_.actor);
    Plan plan = state_.queue.placeOrWait(request, waiting, lifetime(), within_);
    if (abandoned(request))
        return PlannedWait{request, placementOf(plan)};
    if (auto* wait = std::get_if<PlannedWait>(&plan)) {
        state_.queue.requireRoom(request_.owner.uid, request_.actor);
        wait->holdForQuota = request_.terms.holdForQuota;
    }
    return plan;
}

// A request that does not wait, and cannot have its devices now, but could take them on loan, waits
// until it has them.
Plan EvaluatedRequest::planToTake(const AttachRequest& request) const {
    const Queue& queue = state_.queue;
    Requester asking = requester();
    try {
        return queue.place(request, asking, lifetime(), within_);
    } catch (const Error& error) {
        const Preemptible preemptible = environment_ != nullptr
                                            ? environment_->configuration.preemptible
                                            : starts_->configuration.preemptible;
        if (error.code() != ErrorCode::DeviceUnavailable || within_ != nullptr ||
            !queue.couldTake(request, request_.owner.uid, preemptible, environment_))
            throw;
    }
    asking.needsConsent = needsConsentToWait(request_.actor);
    Plan plan = queue.placeOrWait(request, asking, lifetime(), within_);
    if (auto* wait = std::get_if<PlannedWait>(&plan)) {
        queue.requireRoom(request_.owner.uid, request_.actor);
        wait->takesOnly = true;
    }
    return plan;
}

bool EvaluatedRequest::stillHolds(const Plan& plan) const {
    return state_.queue.stillHolds(plan, requester(), within_);
}

const EnvironmentRecord* EvaluatedRequest::parentOfResult() const {
    return environment_ != nullptr ? state_.ledger.parentOf(*environment_) : within_;
}

Target EvaluatedRequest::target(const std::optional<Plan>& plan) const {
    Target target;
    target.environment = id();
    target.owner = request_.owner.uid;
    target.ownerName = adds_ != nullptr ? environment_->user : request_.owner.name;
    if (plan)
        addDevices(target, *plan,
                   adds_ == nullptr ? starts_->overSubscribe
                   : adds_->resumes ? false
                                    : adds_->request.overSubscribe,
                   state_.ledger);
    if (const EnvironmentRecord* parent = parentOfResult()) {
        target.parent = parent->id;
        target.parentOwner = parent->uid;
        target.parentOwnerName = parent->user;
    }
    return target;
}

KeptForUser EvaluatedRequest::kept(const std::optional<Plan>& plan) const {
    const PlannedWait* wait = waitIn(plan);
    // Devices that are kept for this very request are not counted twice.
    return state_.queue.keptFor(request_.owner.uid,
                                wait != nullptr ? abandoned(wait->request) : std::nullopt);
}

QuotaViolation EvaluatedRequest::violation(const std::optional<Plan>& plan) const {
    if (parentOfResult() != nullptr)
        return std::nullopt; // its devices belong to the parent, and are counted there
    if (auto violation = violationOfEndedLoan())
        return violation;
    if (auto violation = violationNow(plan))
        return violation;
    return lastingViolation();
}

QuotaViolation EvaluatedRequest::violationOfEndedLoan() const {
    return adds_ != nullptr && adds_->preemptible == Preemptible::No
               ? admitEndOfLoan(state_.ledger, *environment_, state_.limits)
               : std::nullopt;
}

QuotaViolation EvaluatedRequest::violationNow(const std::optional<Plan>& plan) const {
    if (environment_ == nullptr)
        return admitActivation(state_.ledger, request_.owner, state_.limits, plan, kept(plan),
                               starts_->configuration.preemptible);
    if (!plan)
        return std::nullopt;
    EnvironmentRecord changed = *environment_;
    changed.configuration = configuration();
    return admitAttachment(state_.ledger, changed, state_.limits, *plan, kept(plan));
}

// Checks the limits that no use of the quota satisfies later.
QuotaViolation EvaluatedRequest::lastingViolation() const {
    if (request_.terms.lifetime) {
        if (auto violation =
                admitLifetime(state_.limits, std::chrono::microseconds{0}, request_.terms.lifetime))
            return violation;
    }
    if (environment_ != nullptr)
        return violationOfEndedLoan();
    const EnvironmentConfiguration& configured = starts_->configuration;
    return admitConfiguration(state_.limits, {std::nullopt, configured.gpus, configured.gpuMemory},
                              configured.preemptible);
}

std::optional<Plan> EvaluatedRequest::heldPlan() const {
    if (!request_.terms.holdForQuota || lastingViolation())
        return std::nullopt;
    const auto expected = plan();
    if (!expected)
        return std::nullopt;
    const AttachRequest request = devices();
    const bool starts = environment_ == nullptr || !environment_->isCounted();
    if (!fitsQuota(request, state_.ledger.devices(), starts, state_.limits,
                   willBeLoan(configuration(), request)))
        return std::nullopt;
    if (!abandoned(request))
        state_.queue.requireRoom(request_.owner.uid, request_.actor);
    return PlannedWait{request, placementOf(*expected), true, true};
}

void addDevices(Target& target, const Plan& plan, bool overSubscribe, const LedgerView& ledger) {
    const Placement& placement = placementOf(plan);
    target.overSubscribes = overSubscribe;
    target.gpus = static_cast<std::uint32_t>(placement.attach.size());
    if (std::holds_alternative<PlannedWait>(plan))
        return; // the devices are not known yet
    for (const Placement::Device& device : placement.attach) {
        target.devices.push_back(device.facts.index);
        addHolders(target.withoutConsent, device, ledger);
    }
}

const PlannedWait* waitIn(const std::optional<Plan>& plan) {
    return plan ? std::get_if<PlannedWait>(&*plan) : nullptr;
}

} // namespace genv::core
