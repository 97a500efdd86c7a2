// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the kernel's gate for the device nodes of GPUs. While isolation is in force, open(2) of a
// guarded node fails for a user without a grant. Grants and counters are stored in the kernel, so
// they outlast this service. No function here blocks.
#pragma once

#include "core/base/process.hpp"
#include "core/base/time.hpp"
#include "core/model/device.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::core {

/// The permission to open a node. If the kernel enforces a memory limit one day, it becomes a
/// member here.
struct Grant {
    DeviceNode node;
    std::optional<Uid> uid; ///< unset: everybody

    friend auto operator<=>(const Grant&, const Grant&) = default;
};

/// How the gate treats users without a grant.
enum class GateMode {
    Open,  ///< lets everybody through and counts nothing
    Watch, ///< counts them and lets them through
    Refuse,
};

/// Numbers of opens without a grant. The kernel may drop its oldest counters; they then begin at 0.
struct OpenCounts {
    std::uint64_t refused = 0;
    std::uint64_t watched = 0; ///< let through in Watch mode

    friend bool operator==(const OpenCounts&, const OpenCounts&) = default;
};

/// How often a user was refused at a node, or would have been refused in Watch mode.
struct RefusedOpens {
    Uid uid = 0;
    DeviceNode node;
    OpenCounts counts; ///< since boot
    BootTime last{};
    Pid pid = 0;         ///< the last process that tried
    std::string command; ///< its name, which the process can choose itself
};

/// A range of uids, including both ends.
struct UidRange {
    Uid first = 0;
    Uid last = 0;

    friend auto operator<=>(const UidRange&, const UidRange&) = default;
};

class Gates {
  public:
    virtual ~Gates() = default;

    /// Returns why no gate protects the nodes, as a clause ("genv-isolation.service has not ..."),
    /// or an empty string if one does. Checks each time, since a person can remove the gate.
    [[nodiscard]] virtual std::string absence() = 0;
    /// Returns whether the last absence() found a gate that this service cannot change, such as one
    /// of another version. Such a gate may refuse holders, who cannot get a grant.
    [[nodiscard]] virtual bool isUnusable() const = 0;
    /// Returns a number that changes whenever absence() finds a different gate than before, which
    /// does not have the previous grants.
    [[nodiscard]] virtual std::uint64_t generation() const = 0;

    /// The methods below throw Error(IsolationFailed) if the kernel fails or no gate is present.

    [[nodiscard]] virtual GateMode mode() = 0;
    virtual void setMode(GateMode mode) = 0;
    /// Returns whether a person has suspended isolation. The kernel stores this until the next
    /// boot. It is only a mark; setMode() opens the gate.
    [[nodiscard]] virtual bool isSuspended() = 0;
    virtual void setSuspended(bool suspended) = 0;
    /// Guards all nodes with this major number from now on, for example those of MIG instances,
    /// whose number exists only once the driver is loaded. Returns whether they are guarded: a
    /// number that cannot belong to a GPU driver is not.
    [[nodiscard]] virtual bool guard(std::uint32_t major) = 0;
    /// Guards exactly these DRM nodes of GPUs. All other nodes of their major stay open, since they
    /// belong to other drivers. Returns whether the gate guards any DRM nodes: it was set up with
    /// IsolationRenderNodes=yes.
    [[nodiscard]] virtual bool guardRenderNodes(const std::set<DeviceNode>& nodes) = 0;
    /// Returns all grants except those of nodes that all drivers share (nvidiactl), which never
    /// change.
    [[nodiscard]] virtual std::vector<Grant> grants() = 0;
    /// Adds a grant. It takes effect before this returns. An existing grant has no effect.
    virtual void grant(const Grant& grant) = 0;
    /// Removes a grant. This takes effect before it returns; processes that have the node open keep
    /// it. A missing grant has no effect.
    virtual void revoke(const Grant& grant) = 0;
    /// Returns the user whose grants count for a uid in addition to the uid's own: the owner of a
    /// subordinate uid, otherwise the uid itself. Unset: the uid is exempt and may open every node.
    [[nodiscard]] virtual std::optional<Uid> granteeOf(Uid uid) = 0;
    [[nodiscard]] virtual std::vector<RefusedOpens> refusals() = 0;
    /// Returns the uids that may open every node, ascending, as this service has last set them.
    /// Root is not among them.
    [[nodiscard]] virtual const std::vector<UidRange>& exempt() const = 0;
};

} // namespace genv::core
