// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps the kernel's grants consistent with the ledger: a user may open the device nodes of the
// devices that their environments hold, and no others.
//
// Invariants. The kernel has a grant before the service replies to a request, and loses it before
// anybody is notified that the device is free. Grants that the kernel has from before the service
// started are compared with the ledger and never cleared as a whole. Missing grants are added
// first, and a grant is only removed if the device behind its node is known. Grants are maintained
// in every mode, so that isolation can be enabled immediately. Only the loop's thread uses this
// class.
#pragma once

#include "core/ledger/access_guard.hpp"
#include "core/ledger/events.hpp"
#include "core/model/guarded_use.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/gates.hpp"
#include "core/ports/log.hpp"
#include "core/ports/observer.hpp"
#include "core/settings/settings.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::core {

class LedgerView;

/// The state of isolation, for display.
struct IsolationReport {
    IsolationMode inForce = IsolationMode::None;
    IsolationMode wanted = IsolationMode::None; ///< the configured mode
    bool isSuspended = false;                   ///< suspended by a person, until the next boot
    /// Why the kernel enforces less than genvd.conf asks for; empty if it enforces all of it.
    std::string trouble;
    std::vector<DeviceIndex> guarded;
    std::vector<DeviceIndex> unguarded; ///< the driver does not report their nodes
    std::vector<DeviceIndex> open;      ///< open to everybody by configuration
    bool dockerUser = false;        ///< by configuration: containers with GPUs run as their user
    std::vector<UidRange> exempt{}; ///< may open every device; empty if nobody is refused
    bool guardsRenderNodes = false; ///< the DRM nodes of GPUs (/dev/dri) are guarded, too
};

class Isolation final : public AccessGuard {
  public:
    using Settings = std::function<const IsolationSettings&()>;

    /// All referenced objects must outlive this one.
    Isolation(const LedgerView& ledger, Gates& gates, const EventHub& events, Log& log,
              Settings settings);

    void open(Uid user, const DeviceUuid& device) override;
    void close(Uid user, const DeviceUuid& device) noexcept override;

    /// Learns the device nodes of the devices. Call this before the ledger processes the
    /// observation, so that the user who gets a new device also gets access to its nodes.
    void learn(const Observation& observation);
    /// Checks whether a gate is present, and corrects its mode and grants if needed. Emits
    /// IsolationChanged if the mode in force changed.
    void check() { check(std::nullopt); }
    /// Checks everything, after a change of the configuration or of the kernel's grants.
    void checkAll();
    /// Opens all devices to everybody until the suspension is lifted or the machine reboots. Throws
    /// Error(NotSupported) if isolation is not configured or no gate is present, and
    /// Error(IsolationFailed) if the kernel fails.
    void suspend(bool suspended, const Actor& actor);

    [[nodiscard]] IsolationMode inForce() const { return inForce_; }
    /// Returns whether genvd.conf asks the kernel to count opens, and to refuse none.
    [[nodiscard]] bool onlyWatches() const { return settings_().mode == IsolationMode::Watch; }
    [[nodiscard]] IsolationReport report() const;
    /// Returns the device with this node, or null. For the node of a GPU with MIG instances,
    /// returns one of the instances.
    [[nodiscard]] const DeviceFacts* deviceWith(const DeviceNode& node) const;
    /// Returns what a node is, such as "GPU 1", "MIG instance 1/0 of GPU 0" or "MIG monitor"; its
    /// number, such as "195:1", if that is unknown.
    [[nodiscard]] std::string nameOf(const DeviceNode& node) const;
    /// Returns a function that judges processes by the grants of now. It asks the kernel once about
    /// each uid, so use it for one enforcement cycle.
    [[nodiscard]] GuardedUses guardedUses() const;

  private:
    /// The driver's report about device nodes.
    struct Nodes {
        std::map<DeviceUuid, std::vector<DeviceNode>> ofDevices;
        std::map<DeviceUuid, std::vector<DeviceNode>> rendering; ///< the DRM nodes of devices
        std::map<DeviceNode, DriverNode> named;

        friend bool operator==(const Nodes&, const Nodes&) = default;
    };

    [[nodiscard]] Nodes nodesIn(const Observation& observation) const;
    [[nodiscard]] const std::vector<DeviceNode>& nodesOf(const DeviceUuid& device) const;
    [[nodiscard]] std::vector<DeviceNode> grantedNodes(const DeviceUuid& device) const;
    [[nodiscard]] bool hasNode(const DeviceUuid& device, const DeviceNode& node) const;
    [[nodiscard]] bool isHeld(const DeviceNode& node, Uid user) const;
    [[nodiscard]] bool isOpen(const DeviceUuid& device) const;
    [[nodiscard]] bool isGuarded(const DeviceUuid& device) const;
    [[nodiscard]] std::optional<Uid> holderAmong(const std::vector<Uid>& users,
                                                 const DeviceUuid& device) const;
    [[nodiscard]] std::optional<std::vector<Uid>> grantees(Uid real) const;
    [[nodiscard]] std::set<Grant> wantedGrants() const;
    [[nodiscard]] bool namesNoNode() const;
    [[nodiscard]] GateMode wantedMode() const;
    [[nodiscard]] IsolationMode readModeInForce();
    [[nodiscard]] std::string trouble() const;
    [[nodiscard]] std::string troubleOfDevices() const;
    void check(const std::optional<Actor>& actor);
    void lookForGate();
    void openIfWanted();
    void setMode();
    void reconcile();
    void guardMajors();
    void guardRenderNodes();
    void logChange(IsolationMode before);

    const LedgerView& ledger_;
    Gates& gates_;
    const EventHub& events_;
    Log& log_;
    Settings settings_;

    Nodes nodes_;
    /// The devices that have, or had, each node. Grants for a node that is not in this map are not
    /// removed.
    std::map<DeviceNode, std::set<DeviceUuid>> devices_;
    std::set<std::uint32_t> guardedMajors_;
    bool guardsRenderNodes_ = false; ///< the gate was set up to guard DRM nodes
    bool hasLearned_ = false;        ///< the driver has answered at least once

    std::string absence_;          ///< why no gate was present at the last check
    std::uint64_t generation_ = 0; ///< the generation of the gate at the last check
    std::string failure_;          ///< why the kernel did not accept the mode or the grants
    bool isDue_ = true;            ///< the grants may differ from the wanted ones
    bool isSuspended_ = false;
    IsolationMode inForce_ = IsolationMode::None;
    std::string loggedTrouble_;
};

} // namespace genv::core
