// SPDX-License-Identifier: LGPL-2.1-or-later
// A request for devices, as its caller made it: of Activate, of Attach, or of Resume.
#pragma once

#include "core/ledger/ledger_view.hpp"
#include "core/model/attach_request.hpp"
#include "core/model/environment.hpp"
#include "core/model/user_info.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <variant>

namespace genv::core {

/// Whether a request may wait, and the lifetime of its grant.
struct RequestTerms {
    bool wait = false;
    bool holdForQuota = false; ///< while a quota forbids the request, it waits and is not refused
    std::optional<std::chrono::seconds> timeout; ///< of the wait
    std::optional<std::chrono::seconds> lifetime;
    std::int32_t priority = 0; ///< of the wait among those of its user
};

/// The environment that a process starts or joins, with devices or without.
struct WantedEnvironment {
    std::optional<EnvironmentId> id;        ///< unset: the service chooses
    EnvironmentConfiguration configuration; ///< of an environment that is started
    bool attach = false;
    decltype(AttachRequest::wanted) named = CountWanted{}; ///< a CountWanted: those configured
    std::optional<std::string> model;
    bool overSubscribe = false;
    std::optional<EnvironmentId> within; ///< the parent
    std::uint64_t parentSequence = 0;    ///< of the parent
    ProcessIdentity process;             ///< that starts or joins
    bool restarts = false; ///< the process is a restarted Jupyter kernel of an existing environment
};

/// More devices for an environment, or those that it had when it was parked.
struct WantedDevices {
    EnvironmentId environment;
    std::uint64_t sequence = 0; ///< of the environment
    AttachRequest request;
    std::optional<Preemptible> preemptible; ///< of the environment from then on; unset: as it is
    bool resumes = false;                   ///< the environment is parked
};

/// A request for devices.
struct DeviceRequest {
    std::variant<WantedEnvironment, WantedDevices> wanted;
    UserInfo owner; ///< of the environment
    Uid actor = 0;  ///< who asks
    RequestTerms terms;
};

/// Returns the environment of a request. An environment that ended and was created again with the
/// same id is a different one. Throws Error(NoSuchEnvironment).
const EnvironmentRecord& sameEnvironment(const LedgerView& ledger, const EnvironmentId& id,
                                         std::uint64_t sequence);

/// Throws Error(NotParked), or Error(Busy) if the environment already waits for its devices.
void requireParked(const EnvironmentRecord& environment);

/// Throws Error(AlreadyExists) if the environment of this id is another user's.
void requireOwnerOf(const std::optional<EnvironmentId>& id, Uid owner, const LedgerView& ledger);

/// Returns the lifetime of an environment that is started. The limit of its owner is also the
/// default; the children of an environment end with it.
std::optional<std::chrono::seconds>
lifetimeOfNew(std::optional<std::chrono::seconds> asked, bool isWithin,
              std::optional<std::chrono::milliseconds> maxLifetime);

} // namespace genv::core
