// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: what goes on on the GPUs, with what is known of each compute process. An observation is
// taken on a worker thread (driver and /proc may block) and handed to the loop as a value.
#pragma once

#include "core/ports/gpus.hpp"
#include "core/slurm_cgroup.hpp"
#include "core/time.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

/// What a compute process uses of one device.
struct ComputeUse {
    DeviceUuid device;
    std::optional<Bytes> usedMemory;
    std::optional<std::uint32_t> utilizationPercent{};
};

/// What a process says of its environment by its variables; unverified.
struct EnvironmentHint {
    std::string id; ///< GENV_ENVIRONMENT_ID
    /// GENV_ENVIRONMENT_CREATED, the stamp: an id names an environment only together with it, since
    /// an id can be taken again. Unset: the process has none.
    std::optional<WallTime> created;

    friend bool operator==(const EnvironmentHint&, const EnvironmentHint&) = default;
};

/// A process that the driver reports as using a GPU, with what its environment is decided by. One
/// that cannot be read has neither ancestors nor claims, and is outside every environment.
struct ComputeProcess {
    ProcessFacts facts;
    std::vector<ProcessIdentity> ancestors; ///< parent first
    std::optional<EnvironmentHint> environmentHint;
    std::optional<Uid> userNamespaceOwner; ///< whose it lives in; unset in the service's own
    bool isMpsServer = false;              ///< the MPS server that root installed and started
    /// The service did not come to read it, since too many of its user's processes cannot be read:
    /// where it belongs is unknown, and no rule judges it.
    bool isUnread = false;
    std::vector<ComputeUse> uses;
    std::optional<SlurmCgroup> slurm = {}; ///< unset: it is in no job's control group

    /// Whose it is where it is in no environment: its real uid, but in a user namespace the user
    /// who made that, since uids in a rootless container are subordinate ones of that user, whom
    /// the kernel lets end everything there. A process with a uid of root's is never another's.
    [[nodiscard]] Uid user() const {
        return userNamespaceOwner && !facts.uids.hasRoot() ? *userNamespaceOwner : facts.uids.real;
    }
    /// The same as somebody asks who may own it: theirs also where every uid is.
    [[nodiscard]] Uid ownerFor(Uid viewer) const {
        if (userNamespaceOwner && !facts.uids.hasRoot() && !facts.uids.areAll(viewer))
            return *userNamespaceOwner;
        return facts.uids.ownerFor(viewer);
    }
};

/// The GPUs and their processes at one moment.
struct Observation {
    BootTime started; ///< when taking it began: whatever happened before is in it
    WallTime takenAt;
    std::vector<DeviceSample> devices;
    std::vector<ComputeProcess> processes; ///< by pid
    std::string noDriver; ///< why there is no driver on this machine; empty when one answered
    std::string driverVersion{}; ///< empty where there is no driver, or it does not say
};

/// How old an observation may be for those who ask what is going on now, so that anybody may ask as
/// often as they like.
inline constexpr std::chrono::milliseconds freshSample{1000};

/// Takes observations. Called on the loop's thread only.
class Observer {
  public:
    /// Either an observation, or nothing and why: the driver did not answer.
    using Answer =
        std::function<void(std::shared_ptr<const Observation>, const std::string& failure)>;

    virtual ~Observer() = default;

    /// Hands over an observation that began at most `oldest` ago, at once where the last one is
    /// that young, else when the next one is there. Always answers, and never before this returns.
    /// Concurrent calls share one.
    virtual void observe(std::chrono::milliseconds oldest, Answer answer) = 0;

    /// The last observation, however old; null before the first.
    [[nodiscard]] virtual std::shared_ptr<const Observation> last() const = 0;
};

} // namespace genv::core
