// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the kernel's gate before the nodes of GPUs. While isolation is in force, open(2) of a
// guarded node fails for a user without a grant. What was granted and counted lives in the kernel,
// so it outlasts this service; nothing here blocks.
#pragma once

#include "core/device.hpp"
#include "core/process.hpp"
#include "core/time.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

/// Who may open a node. A limit of memory that the kernel enforces would be a member here.
struct Grant {
    DeviceNode node;
    std::optional<Uid> uid; ///< unset: everybody

    friend auto operator<=>(const Grant&, const Grant&) = default;
};

/// What the gate does with users who have no grant.
enum class GateMode {
    Open,  ///< it lets everybody through and counts nothing
    Watch, ///< it counts them and lets them through
    Refuse,
};

/// How often a user was refused at a node, or would have been.
struct Refusals {
    Uid uid = 0;
    DeviceNode node;
    std::uint64_t count = 0; ///< since the machine started; less where the kernel forgot the oldest
    BootTime last{};
    Pid pid = 0;         ///< of the last one
    std::string command; ///< that process's name, as it chose it
};

class Gates {
  public:
    virtual ~Gates() = default;

    /// Why no gate stands before the nodes, as a clause ("genv-isolation.service has not ...");
    /// empty where one does. Looks again each time, since a person can take it away.
    [[nodiscard]] virtual std::string absence() = 0;
    /// Whether absence() last found a gate that stands and that this service cannot change, such as
    /// one of another version. It may refuse holders, who cannot be granted anything.
    [[nodiscard]] virtual bool isUnusable() const = 0;
    /// Another number each time that absence() found another gate than before, whose grants are
    /// not those that were made.
    [[nodiscard]] virtual std::uint64_t generation() const = 0;

    /// The methods below throw Error(IsolationFailed) where the kernel refuses or no gate is there.

    [[nodiscard]] virtual GateMode mode() = 0;
    virtual void setMode(GateMode mode) = 0;
    /// Whether a person has suspended isolation. The kernel keeps that until the machine starts
    /// again; it is a mark, and setMode() is what opens the gate.
    [[nodiscard]] virtual bool isSuspended() = 0;
    virtual void setSuspended(bool suspended) = 0;
    /// Guards all nodes with this major number from now on, such as those of MIG instances, whose
    /// number there is only once the driver is loaded. Returns whether they are guarded: a number
    /// that cannot be of a GPU's driver is not.
    [[nodiscard]] virtual bool guard(std::uint32_t major) = 0;
    /// All grants, but those of nodes that all drivers share (nvidiactl), which never change.
    [[nodiscard]] virtual std::vector<Grant> grants() = 0;
    /// Takes effect before it returns. A grant that is there has no effect.
    virtual void grant(const Grant& grant) = 0;
    /// Takes effect before it returns; whoever has the node open keeps it. A grant that is not
    /// there has no effect.
    virtual void revoke(const Grant& grant) = 0;
    [[nodiscard]] virtual std::vector<Refusals> refusals() = 0;
};

} // namespace genv::core
