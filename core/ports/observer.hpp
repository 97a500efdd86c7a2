// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the activity on the GPUs, with the known data of each compute process. An observation is
// taken on a worker thread (driver and /proc may block) and passed to the loop as a value.
#pragma once

#include "core/base/time.hpp"
#include "core/model/slurm_cgroup.hpp"
#include "core/ports/gpus.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

/// The use of one device by a compute process.
struct ComputeUse {
    DeviceUuid device;
    std::optional<Bytes> usedMemory;
    std::optional<std::uint32_t> utilizationPercent{};
};

/// The environment that a process claims through its variables; not verified.
struct EnvironmentHint {
    std::string id; ///< GENV_ENVIRONMENT_ID
    /// GENV_ENVIRONMENT_CREATED, the stamp. An id identifies an environment only together with it,
    /// since ids can be reused. Unset: the process has no stamp.
    std::optional<WallTime> created;

    friend bool operator==(const EnvironmentHint&, const EnvironmentHint&) = default;
};

/// A process that uses a GPU according to the driver, with the data that determine its environment.
/// A process that cannot be read has no ancestors and no hint, and belongs to no environment.
struct ObservedProcess {
    ProcessFacts facts;
    std::vector<ProcessIdentity> ancestors; ///< parent first
    std::optional<EnvironmentHint> environmentHint;
    std::optional<Uid> userNamespaceOwner; ///< the owner of its user namespace; unset in the
                                           ///< service's own namespace
    bool isMpsServer = false;              ///< the MPS server that root installed and started
    /// The service skipped the process, since too many processes of its user cannot be read. Its
    /// environment is unknown, and no rule judges it.
    bool isUnread = false;
    std::vector<ComputeUse> uses;
    std::optional<SlurmCgroup> slurm = {}; ///< unset: it is not in the cgroup of a job

    /// Returns the user of a process outside environments. This is its real uid. In a user
    /// namespace it is the creator of the namespace, since the uids in a rootless container are
    /// subordinate uids of that user, whom the kernel allows to end all processes there. A process
    /// with one of root's uids is never attributed to another user.
    [[nodiscard]] Uid user() const {
        return userNamespaceOwner && !facts.uids.hasRoot() ? *userNamespaceOwner : facts.uids.real;
    }
    /// Returns the same from the view of `viewer`: the viewer also owns the process if all its uids
    /// are the viewer's.
    [[nodiscard]] Uid ownerFor(Uid viewer) const {
        if (userNamespaceOwner && !facts.uids.hasRoot() && !facts.uids.areAll(viewer))
            return *userNamespaceOwner;
        return facts.uids.ownerFor(viewer);
    }
};

/// The GPUs and their processes at one moment.
struct Observation {
    BootTime started; ///< when the observation began: it includes everything that happened before
    WallTime takenAt;
    std::vector<DeviceSample> devices;
    std::vector<ObservedProcess> processes; ///< by PID
    std::string noDriver;        ///< why this machine has no driver; empty if one answered
    std::string driverVersion{}; ///< empty if there is no driver, or it does not report a version
    std::vector<DriverNode> nodes{}; ///< the driver's nodes with their names
};

/// The maximum age of an observation for requests about the current activity, so that users may
/// make such requests as often as they like.
inline constexpr std::chrono::milliseconds freshSample{1000};

/// Takes observations. Only the loop's thread calls it.
class Observer {
  public:
    /// Called with an observation, or with null and the reason why the driver did not answer.
    using Answer =
        std::function<void(std::shared_ptr<const Observation>, const std::string& failure)>;

    virtual ~Observer() = default;

    /// Returns an observation that began at most `oldest` ago: the last one if it is recent enough,
    /// otherwise the next one. `answer` is always called, and never before this returns. Concurrent
    /// calls share an observation.
    virtual void observe(std::chrono::milliseconds oldest, Answer answer) = 0;

    /// Returns the last observation of any age; null before the first one.
    [[nodiscard]] virtual std::shared_ptr<const Observation> last() const = 0;
};

} // namespace genv::core
