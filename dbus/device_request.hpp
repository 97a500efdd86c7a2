// SPDX-License-Identifier: LGPL-2.1-or-later
// A request for devices: work out which, ask whether the caller may have them, and give exactly
// those. When the devices changed hands while polkit was thinking, the new outcome is asked about
// anew; when a person was asked for a password, the call is refused instead, since they agreed to
// something else. What would go over a limit takes a second consent, and is marked as given so.
#pragma once

#include "core/admission.hpp"
#include "dbus/context.hpp"

#include <algorithm>
#include <functional>
#include <optional>

namespace genv::dbus {

/// What differs between Activate and Attach. Every function looks its environment up anew and may
/// throw core::Error.
struct DeviceRequest {
    std::function<std::optional<core::Plan>()> plan; ///< nothing when no devices are wanted
    std::function<policy::Target(const std::optional<core::Plan>&)> target;
    std::function<bool(const core::Plan&)> stillHolds;
    std::function<core::QuotaViolation(const std::optional<core::Plan>&)> quota;
    /// `exempt`: it goes over a limit, with consent.
    std::function<void(const std::optional<core::Plan>&, bool exempt)> apply;
};

/// The wait of a plan, or null.
inline const core::PlannedWait* waitIn(const std::optional<core::Plan>& plan) {
    return plan ? std::get_if<core::PlannedWait>(&*plan) : nullptr;
}

/// What of a user's is kept for them and counts with what they ask for; not what is kept for this
/// very request, which waited before the service was started again.
inline core::KeptForUser keptFor(const Context& context, core::Uid owner,
                                 const core::Environment* environment,
                                 const std::optional<core::Plan>& plan) {
    const core::PlannedWait* wait = waitIn(plan);
    const auto abandoned = environment != nullptr && wait != nullptr
                               ? context.sharing.queue.abandoned(environment->id, wait->request)
                               : std::nullopt;
    return context.sharing.queue.keptFor(owner, abandoned);
}

/// What comes of a request. A request that waited before the service was started again goes on
/// waiting in its place. `parent`: of an environment that does not exist yet. Throws as
/// core::Queue::place() and core::Queue::requireRoom() do.
inline core::Plan planFor(const Context& context, const core::AttachRequest& request,
                          const core::Environment* environment,
                          std::optional<std::chrono::seconds> lifetime, bool mayWait,
                          core::Uid owner, core::Uid actor,
                          const core::Environment* parent = nullptr) {
    if (!mayWait)
        return context.sharing.queue.place(request, environment, lifetime, parent);
    core::Plan plan = context.sharing.queue.placeOrWait(request, environment, lifetime, parent);
    if (environment != nullptr && context.sharing.queue.abandoned(environment->id, request))
        return core::PlannedWait{request, core::placementOf(plan)};
    if (std::holds_alternative<core::PlannedWait>(plan))
        context.sharing.queue.requireRoom(owner, actor);
    return plan;
}

/// How often a request is asked about anew before it is refused.
inline constexpr int maxRequestAttempts = 8;

/// Throws core::Error(DeviceUnavailable) unless the devices are as they were asked about.
inline void requireUnchanged(const DeviceRequest& request, const std::optional<core::Plan>& plan) {
    if (plan && !request.stillHolds(*plan))
        core::fail(core::ErrorCode::DeviceUnavailable,
                   "the devices changed hands while authorisation was given; try again");
}

/// Gives what a request was allowed, once the limits allow it, too. What an environment has that
/// ends just now may be the caller's again in a moment, so that is waited for.
template <typename... Values>
void give(const Context& context, const Reply<Values...>& reply, const DeviceRequest& request,
          const std::optional<core::Plan>& plan, bool mayWait = true) {
    const core::QuotaViolation violation = request.quota(plan);
    if (!violation) {
        request.apply(plan, false);
        return;
    }
    if (mayWait && context.sharing.lingering.isSettling()) {
        context.sharing.lingering.whenSettled(reply.later([&context, reply, request, plan] {
            requireUnchanged(request, plan);
            give(context, reply, request, plan, false);
        }));
        return;
    }
    context.calls.gate.passQuota(
        reply, request.target(plan), *violation, [request, plan, violation] {
            requireUnchanged(request, plan);
            const core::QuotaViolation now = request.quota(plan);
            if (now && now != violation)
                core::fail(core::ErrorCode::QuotaExceeded, "{}", *now); // not what was asked about
            request.apply(plan, now.has_value());
        });
}

/// What a request gets; nothing, and the request begins anew, where devices are missing that may be
/// free in a moment, since environments that hold some end just now.
inline std::optional<std::optional<core::Plan>> planUnlessSettling(const Context& context,
                                                                   const DeviceRequest& request) {
    if (!context.sharing.lingering.isSettling())
        return request.plan();
    try {
        const std::optional<core::Plan> plan = request.plan();
        if (waitIn(plan) != nullptr)
            return std::nullopt;
        return plan;
    } catch (const core::Error& error) {
        if (error.code() != core::ErrorCode::DeviceUnavailable)
            throw;
        return std::nullopt;
    }
}

/// Whether a device was in use by a process of none of its environments when the GPUs were sampled
/// last. That process may be gone.
inline bool hasOccupied(const std::optional<core::Plan>& plan) {
    if (!plan)
        return false;
    const auto& devices = core::placementOf(*plan).attach;
    return std::any_of(devices.begin(), devices.end(),
                       [](const auto& device) { return device.occupied; });
}

template <typename... Values>
void carryOut(const Context& context, const Reply<Values...>& reply, const DeviceRequest& request,
              int attempts = maxRequestAttempts, bool isSampled = false) {
    const auto planned = attempts > 1 ? planUnlessSettling(context, request) : request.plan();
    if (!planned) {
        context.sharing.lingering.whenSettled(
            reply.later([&context, reply, request, attempts, isSampled] {
                carryOut(context, reply, request, attempts - 1, isSampled);
            }));
        return;
    }
    const std::optional<core::Plan>& plan = *planned;
    if (!isSampled && hasOccupied(plan)) {
        context.sharing.occupancy.sample(reply.later([&context, reply, request, attempts] {
            carryOut(context, reply, request, attempts, true);
        }));
        return;
    }
    context.calls.gate.pass(reply, request.target(plan),
                            [&context, reply, request, plan, attempts] {
                                if (!plan || request.stillHolds(*plan)) {
                                    give(context, reply, request, plan);
                                    return;
                                }
                                request.plan(); // says what is in the way, when something is
                                if (reply.caller().interactive || attempts <= 1)
                                    requireUnchanged(request, plan);
                                carryOut(context, reply, request, attempts - 1, true);
                            });
}

/// Answers a request that waited for its devices: where another's process uses one of them, after
/// its owner is warned, which takes a sample.
template <typename... Values, typename Answer>
void answerOnceWarned(const Context& context, const Reply<Values...>& reply,
                      const core::EnvironmentId& id, Answer answer) {
    const auto indices = context.sharing.ledger.get(id).deviceIndices();
    const auto isOccupied = [&](core::DeviceIndex index) {
        const core::Device* device = context.sharing.ledger.devices().find(index);
        return device != nullptr && device->occupied;
    };
    if (std::any_of(indices.begin(), indices.end(), isOccupied))
        context.sharing.occupancy.sample(reply.later(std::move(answer)));
    else
        answer();
}

} // namespace genv::dbus
