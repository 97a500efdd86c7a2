// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/requests/device_request.hpp"

#include "core/base/error.hpp"

#include <algorithm>

namespace genv::core {

const EnvironmentRecord& sameEnvironment(const LedgerView& ledger, const EnvironmentId& id,
                                         std::uint64_t sequence) {
    const EnvironmentRecord* environment = ledger.find(id);
    if (environment == nullptr || environment->sequence != sequence)
        fail(ErrorCode::NoSuchEnvironment, "environment {} ended in the meantime", id);
    return *environment;
}

void requireParked(const EnvironmentRecord& environment) {
    if (!environment.isAt(ParkingStep::Parked))
        fail(ErrorCode::NotParked, "environment {} is not parked", environment.id);
    if (!environment.waits.empty())
        fail(ErrorCode::Busy, "environment {} already waits for its GPUs", environment.id);
}

void requireOwnerOf(const std::optional<EnvironmentId>& id, Uid owner, const LedgerView& ledger) {
    const EnvironmentRecord* existing = id ? ledger.find(*id) : nullptr;
    if (existing != nullptr && existing->uid != owner)
        fail(ErrorCode::AlreadyExists, "environment {} exists already and belongs to {}",
             existing->id, existing->user);
}

std::optional<std::chrono::seconds>
lifetimeOfNew(std::optional<std::chrono::seconds> asked, bool isWithin,
              std::optional<std::chrono::milliseconds> maxLifetime) {
    if (asked || isWithin || !maxLifetime)
        return asked;
    return std::max(std::chrono::floor<std::chrono::seconds>(*maxLifetime),
                    std::chrono::seconds{1});
}

} // namespace genv::core
