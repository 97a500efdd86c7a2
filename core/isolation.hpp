// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps the kernel's grants in step with the ledger: a user may open the nodes of the devices that
// their environments hold, and no others.
//
// Invariants. A grant is there before a request is answered, and gone before anybody hears that the
// device is free. What the kernel has from before the service started is compared and never
// cleared: missing grants are added first, and a grant is only taken away where the device behind
// its node is known. Grants are kept in step in every mode, so that isolation can be switched on at
// once. One thread uses it, the loop's.
#pragma once

#include "core/access_guard.hpp"
#include "core/events.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/gates.hpp"
#include "core/ports/log.hpp"
#include "core/ports/observer.hpp"
#include "core/settings.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::core {

class Ledger;

/// Isolation as it is now, for people.
struct IsolationReport {
    IsolationMode inForce = IsolationMode::None;
    IsolationMode wanted = IsolationMode::None; ///< as configured
    bool isSuspended = false;                   ///< by a person, until the machine starts again
    /// Why the kernel does less than genvd.conf asks for; empty where it does all of it.
    std::string trouble;
    std::vector<DeviceIndex> guarded;
    std::vector<DeviceIndex> unguarded; ///< the driver does not say which nodes they have
    std::vector<DeviceIndex> open;      ///< to everybody, as configured
    bool dockerUser = false;            ///< as configured: containers with GPUs run as their user
};

class Isolation final : public AccessGuard {
  public:
    using Settings = std::function<const IsolationSettings&()>;

    /// All outlive this.
    Isolation(const Ledger& ledger, Gates& gates, const EventHub& events, Log& log,
              Settings settings);

    void open(Uid user, const DeviceUuid& device) override;
    void close(Uid user, const DeviceUuid& device) noexcept override;

    /// Learns which nodes devices have. To be called before the ledger hears of the observation, so
    /// that whoever gets a new device gets its nodes.
    void learn(const Observation& observation);
    /// Looks whether a gate is there, and corrects its mode and grants where that is due. Tells
    /// IsolationChanged when another mode is in force.
    void check() { check(std::nullopt); }
    /// The same where all may have changed: the configuration, or what the kernel has.
    void checkAll();
    /// Lets everybody through until this is lifted or the machine starts again. Throws
    /// Error(NotSupported) where isolation is not configured or no gate is there, and
    /// Error(IsolationFailed).
    void suspend(bool suspended, const Actor& actor);

    [[nodiscard]] IsolationMode inForce() const { return inForce_; }
    [[nodiscard]] IsolationReport report() const;
    /// The device whose node this is, or null; of a GPU's node on a machine with MIG instances, one
    /// of the instances.
    [[nodiscard]] const DeviceFacts* deviceWith(const DeviceNode& node) const;

  private:
    [[nodiscard]] const std::vector<DeviceNode>& nodesOf(const DeviceUuid& device) const;
    [[nodiscard]] bool hasNode(const DeviceUuid& device, const DeviceNode& node) const;
    [[nodiscard]] bool isHeld(const DeviceNode& node, Uid user) const;
    [[nodiscard]] bool isOpen(const DeviceUuid& device) const;
    [[nodiscard]] bool isGuarded(const DeviceUuid& device) const;
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
    void logChange(IsolationMode before);

    const Ledger& ledger_;
    Gates& gates_;
    const EventHub& events_;
    Log& log_;
    Settings settings_;

    std::map<DeviceUuid, std::vector<DeviceNode>> nodes_;
    /// The devices that have, or had, a node. A grant of a node that is not in it is nobody's to
    /// take away.
    std::map<DeviceNode, std::set<DeviceUuid>> devices_;
    std::set<std::uint32_t> guardedMajors_;
    bool hasLearned_ = false; ///< a driver has answered

    std::string absence_;          ///< why no gate is there, as it was last seen
    std::uint64_t generation_ = 0; ///< of the gate, as it was last seen
    std::string failure_;          ///< why the kernel did not take the mode or the grants over
    bool isDue_ = true;            ///< grants may differ from what is wanted
    bool isSuspended_ = false;
    IsolationMode inForce_ = IsolationMode::None;
    std::string toldTrouble_;
};

} // namespace genv::core
