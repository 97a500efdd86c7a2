// SPDX-License-Identifier: LGPL-2.1-or-later
// A request for devices: selects the devices, asks whether the caller may have them, and grants
// exactly those. If the devices changed hands while polkit processed the question, a new question
// is asked for the new devices. But if a person was prompted for a password, the call is refused
// instead, since they approved something else. A request above a limit needs a second approval, and
// its grant is marked as exempt.
#pragma once

#include "core/admission.hpp"
#include "dbus/context.hpp"

#include <algorithm>
#include <functional>
#include <optional>

namespace genv::dbus {

/// The differences between Activate and Attach. Every function looks up its environment again and
/// may throw core::Error.
struct DeviceRequest {
    std::function<std::optional<core::Plan>()>
        plan; ///< returns nothing if no devices are requested
    std::function<policy::Target(const std::optional<core::Plan>&)> target;
    std::function<bool(const core::Plan&)> stillHolds;
    std::function<core::QuotaViolation(const std::optional<core::Plan>&)> quota;
    /// `exempt`: the grant exceeds a limit and was approved.
    std::function<void(const std::optional<core::Plan>&, bool exempt)> apply;
};

/// Returns the wait of a plan, or null.
inline const core::PlannedWait* waitIn(const std::optional<core::Plan>& plan) {
    return plan ? std::get_if<core::PlannedWait>(&*plan) : nullptr;
}

/// Returns the devices that are kept for a user and count together with the request. Devices that
/// are kept for this very request, which already waited before a restart of the service, are
/// excluded.
inline core::KeptForUser keptFor(const Context& context, core::Uid owner,
                                 const core::Environment* environment,
                                 const std::optional<core::Plan>& plan) {
    const core::PlannedWait* wait = waitIn(plan);
    const auto abandoned = environment != nullptr && wait != nullptr
                               ? context.sharing.queue.abandoned(environment->id, wait->request)
                               : std::nullopt;
    return context.sharing.queue.keptFor(owner, abandoned);
}

/// Returns the plan of a request. A request that waited before a restart of the service keeps its
/// position in the queue. `parent`: the parent of an environment that does not exist yet. Throws
/// the same errors as core::Queue::place() and core::Queue::requireRoom().
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

/// How often a question is repeated for changed devices before the request is refused.
inline constexpr int maxRequestAttempts = 8;

/// Throws core::Error(DeviceUnavailable) unless the devices are the same as in the question.
inline void requireUnchanged(const DeviceRequest& request, const std::optional<core::Plan>& plan) {
    if (plan && !request.stillHolds(*plan))
        core::fail(core::ErrorCode::DeviceUnavailable,
                   "the devices changed hands while authorisation was given; try again");
}

/// Grants an authorised request, once the limits allow it, too. If it exceeds a limit while
/// environments are just ending, waits for their ends first, since the devices of such an
/// environment may still count for the caller.
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
                core::fail(core::ErrorCode::QuotaExceeded, "{}",
                           *now); // differs from the violation in the question
            request.apply(plan, now.has_value());
        });
}

/// Returns the plan of a request. Returns nothing if devices are missing that may become free in a
/// moment, since environments are just ending; the caller then starts the request again later.
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

/// Returns whether, in the last sample, a process from outside its environments used one of the
/// devices. That process may be gone by now.
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
                                request.plan(); // throws if the devices are not available
                                if (reply.caller().interactive || attempts <= 1)
                                    requireUnchanged(request, plan);
                                carryOut(context, reply, request, attempts - 1, true);
                            });
}

/// Replies to a request that waited for its devices. If another user's process uses one of them,
/// the owner is warned first, which takes a sample.
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
