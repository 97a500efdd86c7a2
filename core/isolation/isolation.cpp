// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/isolation/isolation.hpp"

#include "core/base/error.hpp"
#include "core/ledger/ledger_view.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace genv::core {

namespace {

GateMode toGateMode(IsolationMode mode) {
    switch (mode) {
    case IsolationMode::Watch:
        return GateMode::Watch;
    case IsolationMode::User:
        return GateMode::Refuse;
    case IsolationMode::None:
        break;
    }
    return GateMode::Open;
}

// Root always passes the gate.
bool needsGrant(Uid user) {
    return user != 0;
}

// Tries a step and stores its error, if it is the first error of several steps.
template <typename Step>
void attempt(std::optional<Error>& failure, const Step& step) {
    try {
        step();
    } catch (const Error& error) {
        if (!failure)
            failure = error;
    }
}

} // namespace

Isolation::Isolation(const LedgerView& ledger, Gates& gates, const EventHub& events, Log& log,
                     Settings settings)
    : ledger_(ledger), gates_(gates), events_(events), log_(log), settings_(std::move(settings)),
      absence_("the GPUs were not looked at yet") {}

void Isolation::open(Uid user, const DeviceUuid& device) {
    if (!needsGrant(user) || isOpen(device))
        return;
    if (const std::string absence = gates_.absence(); !absence.empty()) {
        isDue_ = true;
        if (gates_.isUnusable() && settings_().mode == IsolationMode::User)
            fail(ErrorCode::IsolationFailed, "cannot open GPU {} to uid {}: {}", device, user,
                 absence);
        return;
    }
    if (inForce_ == IsolationMode::User && nodesOf(device).empty())
        fail(ErrorCode::IsolationFailed,
             "cannot open GPU {} to uid {}: the driver does not name its device node", device,
             user);
    try {
        for (const DeviceNode& node : grantedNodes(device))
            gates_.grant({node, user});
    } catch (const Error& error) {
        isDue_ = true;
        if (inForce_ == IsolationMode::User && gates_.absence().empty())
            throw;
        log_.error("isolation: {}", error.what());
    }
}

void Isolation::close(Uid user, const DeviceUuid& device) noexcept {
    if (!needsGrant(user))
        return;
    if (!gates_.absence().empty()) {
        isDue_ = true;
        return;
    }
    for (const DeviceNode& node : grantedNodes(device)) {
        if (isHeld(node, user))
            continue;
        try {
            gates_.revoke({node, user});
        } catch (const Error& error) {
            isDue_ = true;
            log_.error("isolation: cannot revoke GPU {} from uid {}: {}; will retry", device, user,
                       error.what());
        }
    }
}

void Isolation::learn(const Observation& observation) {
    if (!observation.noDriver.empty())
        return;
    Nodes next = nodesIn(observation);
    if (next == nodes_ && hasLearned_)
        return;
    nodes_ = std::move(next);
    hasLearned_ = true;
    isDue_ = true;
    for (const auto* nodes : {&nodes_.ofDevices, &nodes_.rendering}) {
        for (const auto& [device, own] : *nodes) {
            for (const DeviceNode& node : own)
                devices_[node].insert(device);
        }
    }
}

Isolation::Nodes Isolation::nodesIn(const Observation& observation) const {
    Nodes next;
    for (const DriverNode& node : observation.nodes)
        next.named.emplace(node.node, node);
    for (const DeviceSample& sample : observation.devices) {
        const DeviceUuid& uuid = sample.facts.uuid;
        const auto known = nodes_.ofDevices.find(uuid);
        next.ofDevices[uuid] =
            sample.nodes.empty() && known != nodes_.ofDevices.end() ? known->second : sample.nodes;
        for (const DriverNode& node : observation.nodes) {
            if (!node.pciAddress.empty() && node.pciAddress == sample.pciAddress)
                next.rendering[uuid].push_back(node.node);
        }
    }
    // A device that the driver lost may come back; until then its nodes must stay closed.
    for (const auto& [device, nodes] : nodes_.ofDevices) {
        if (!ledger_.holdersOf(device).empty())
            next.ofDevices.try_emplace(device, nodes);
    }
    return next;
}

void Isolation::checkAll() {
    isDue_ = true;
    check();
}

// A new gate has none of the grants of the previous one.
void Isolation::lookForGate() {
    const bool wasAbsent = !absence_.empty();
    absence_ = gates_.absence();
    const std::uint64_t seen = std::exchange(generation_, gates_.generation());
    if (wasAbsent || seen != generation_)
        isDue_ = true;
    if (!absence_.empty())
        isSuspended_ = false;
}

void Isolation::check(const std::optional<Actor>& actor) {
    lookForGate();
    // The loader does not know the nodes, and closes the gate when it runs again.
    const bool isClosedToAll = namesNoNode() && inForce_ != IsolationMode::None;
    if (absence_.empty() && (isDue_ || isClosedToAll)) {
        try {
            failure_.clear();
            // If a person wants the gate open, an error below must not keep it closed.
            openIfWanted();
            guardMajors();
            guardRenderNodes();
            reconcile();
            setMode();
        } catch (const Error& error) {
            failure_ = error.what();
            isDue_ = true;
        }
    }
    const IsolationMode before = std::exchange(inForce_, readModeInForce());
    logChange(before);
    if (inForce_ != before)
        events_.emit(IsolationChanged{inForce_, isSuspended_, actor});
}

// Returns whether a driver answered but reports no node for any device. No device could be granted
// then, so the gate must not refuse any.
bool Isolation::namesNoNode() const {
    const auto& devices = ledger_.devices().byIndex();
    return hasLearned_ && !devices.empty() &&
           std::ranges::all_of(devices, [this](const auto& entry) {
               return nodesOf(entry.second.facts.uuid).empty();
           });
}

GateMode Isolation::wantedMode() const {
    return isSuspended_ || namesNoNode() ? GateMode::Open : toGateMode(settings_().mode);
}

void Isolation::openIfWanted() {
    isSuspended_ = gates_.isSuspended();
    if (wantedMode() == GateMode::Open)
        setMode();
}

void Isolation::setMode() {
    const GateMode mode = wantedMode();
    if (gates_.mode() != mode)
        gates_.setMode(mode);
}

void Isolation::guardMajors() {
    guardedMajors_.clear();
    for (const auto& [device, nodes] : nodes_.ofDevices) {
        for (const DeviceNode& node : nodes) {
            if (gates_.guard(node.major))
                guardedMajors_.insert(node.major);
        }
    }
}

// Before the driver has answered, the nodes that the loader found stay guarded.
void Isolation::guardRenderNodes() {
    if (!hasLearned_)
        return;
    std::set<DeviceNode> guarded;
    if (settings_().renderNodes) {
        for (const auto& [node, known] : nodes_.named) {
            if (!known.pciAddress.empty())
                guarded.insert(node);
        }
    }
    guardsRenderNodes_ = gates_.guardRenderNodes(guarded) && settings_().renderNodes;
}

std::set<Grant> Isolation::wantedGrants() const {
    std::set<Grant> wanted;
    for (const auto& [sequence, environment] : ledger_.environments()) {
        if (!needsGrant(environment.uid))
            continue;
        for (const DeviceAttachment& attachment : environment.attachments) {
            if (isOpen(attachment.device.uuid))
                continue;
            for (const DeviceNode& node : grantedNodes(attachment.device.uuid))
                wanted.insert({node, environment.uid});
        }
    }
    for (const auto& [device, nodes] : nodes_.ofDevices) {
        if (!isOpen(device))
            continue;
        for (const DeviceNode& node : grantedNodes(device))
            wanted.insert({node, std::nullopt});
    }
    for (const auto& [node, known] : nodes_.named) {
        if (known.isOpen)
            wanted.insert({node, std::nullopt});
    }
    return wanted;
}

void Isolation::reconcile() {
    if (!hasLearned_)
        return;
    const std::set<Grant> wanted = wantedGrants();
    const std::vector<Grant> listed = gates_.grants();
    const std::set<Grant> present(listed.begin(), listed.end());
    // If adding a grant fails, for example because the table is full, stale grants are still
    // removed.
    std::optional<Error> failure;
    for (const Grant& grant : wanted) {
        if (!present.contains(grant))
            attempt(failure, [&] { gates_.grant(grant); });
    }
    for (const Grant& grant : present) {
        if (!wanted.contains(grant) && devices_.contains(grant.node))
            attempt(failure, [&] { gates_.revoke(grant); });
    }
    if (failure)
        throw Error(*failure);
    isDue_ = false;
}

void Isolation::suspend(bool suspended, const Actor& actor) {
    checkAll();
    if (settings_().mode == IsolationMode::None)
        fail(ErrorCode::NotSupported,
             "isolation is not configured: set Isolation=watch or Isolation=user in genvd.conf, "
             "restart genv-isolation.service and reload genvd.service");
    if (!absence_.empty())
        fail(ErrorCode::NotSupported, "the kernel refuses nothing: {}", absence_);
    gates_.setSuspended(suspended);
    isDue_ = true;
    check(actor);
    const bool isDone = suspended ? inForce_ == IsolationMode::None : failure_.empty();
    if (!isDone)
        fail(ErrorCode::IsolationFailed, "{}", failure_);
}

// Returns the actual mode of the kernel, which may differ from the requested one.
IsolationMode Isolation::readModeInForce() {
    if (!absence_.empty())
        return IsolationMode::None;
    try {
        switch (gates_.mode()) {
        case GateMode::Watch:
            return IsolationMode::Watch;
        case GateMode::Refuse:
            return IsolationMode::User;
        case GateMode::Open:
            break;
        }
    } catch (const Error& error) {
        failure_ = error.what();
        isDue_ = true;
    }
    return IsolationMode::None;
}

std::string Isolation::trouble() const {
    if (!failure_.empty() && absence_.empty())
        return failure_;
    if (settings_().mode == IsolationMode::None || isSuspended_)
        return {};
    if (!absence_.empty())
        return gates_.isUnusable()
                   ? absence_ + "; meanwhile the kernel may refuse GPUs to users who hold them"
                   : absence_;
    if (!hasLearned_)
        return {};
    if (inForce_ != settings_().mode && !namesNoNode())
        return fmt::format(
            "the kernel's gate is in mode \"{}\": genv-isolation and genvd have read "
            "different settings",
            toString(inForce_));
    if (settings_().renderNodes && !guardsRenderNodes_)
        return "the kernel guards no render nodes: genv-isolation has not read "
               "IsolationRenderNodes=yes";
    return troubleOfDevices();
}

std::string Isolation::troubleOfDevices() const {
    if (namesNoNode())
        return "the driver does not name the device node of any GPU, so the kernel refuses none";
    std::vector<DeviceIndex> unguarded;
    std::vector<DeviceIndex> unopenable;
    for (const auto& [index, device] : ledger_.devices().byIndex()) {
        if (nodesOf(device.facts.uuid).empty())
            unopenable.push_back(index);
        else if (!isGuarded(device.facts.uuid))
            unguarded.push_back(index);
    }
    if (!unopenable.empty())
        return fmt::format("the driver does not name the device node of {}, so that users cannot "
                           "open it even when they hold it",
                           nameGpus(unopenable));
    if (!unguarded.empty())
        return fmt::format("{} can be opened by everybody: its device node is not one of a GPU's "
                           "driver",
                           nameGpus(unguarded));
    for (const DeviceUuid& device : settings_().openDevices) {
        if (!nodes_.ofDevices.contains(device))
            return fmt::format("IsolationOpenDevices= names {}, which this machine does not have; "
                               "it opens nothing",
                               device);
    }
    return {};
}

void Isolation::logChange(IsolationMode before) {
    if (std::string now = trouble(); now != loggedTrouble_) {
        loggedTrouble_ = std::move(now);
        if (!loggedTrouble_.empty())
            log_.error("isolation: {}", loggedTrouble_);
    }
    if (inForce_ == before)
        return;
    switch (inForce_) {
    case IsolationMode::None:
        log_.warning("isolation is not in force: the kernel refuses no GPU to anybody");
        break;
    case IsolationMode::Watch:
        log_.info("isolation watches: the kernel counts users who open a GPU that they do not "
                  "hold");
        break;
    case IsolationMode::User:
        log_.info("isolation is in force: the kernel refuses GPUs to users who do not hold them");
        break;
    }
}

IsolationReport Isolation::report() const {
    IsolationReport report{inForce_, settings_().mode,      isSuspended_, trouble(), {}, {},
                           {},       settings_().dockerUser};
    if (inForce_ != IsolationMode::None)
        report.exempt = gates_.exempt();
    report.guardsRenderNodes = absence_.empty() && guardsRenderNodes_;
    for (const auto& [index, device] : ledger_.devices().byIndex()) {
        // A device with an unknown node is refused to everybody while the gate refuses opens.
        const bool guarded = absence_.empty() &&
                             (isGuarded(device.facts.uuid) || (nodesOf(device.facts.uuid).empty() &&
                                                               inForce_ != IsolationMode::None));
        (guarded ? report.guarded : report.unguarded).push_back(index);
        if (isOpen(device.facts.uuid))
            report.open.push_back(index);
    }
    return report;
}

const DeviceFacts* Isolation::deviceWith(const DeviceNode& node) const {
    const auto found = devices_.find(node);
    if (found == devices_.end())
        return nullptr;
    for (const DeviceUuid& uuid : found->second) {
        const TableDevice* device = ledger_.devices().findUuid(uuid);
        if (device != nullptr && hasNode(uuid, node))
            return &device->facts;
    }
    return nullptr;
}

GuardedUses Isolation::guardedUses() const {
    if (inForce_ != IsolationMode::User)
        return [](const ObservedProcess&) { return std::vector<GuardedUse>{}; };
    using Known = std::map<Uid, std::optional<std::vector<Uid>>>;
    return [this, known = std::make_shared<Known>()](const ObservedProcess& process) {
        std::vector<GuardedUse> uses;
        if (process.facts.uids.hasRoot())
            return uses;
        // As for the kernel, the real uid counts.
        const Uid real = process.facts.uids.real;
        auto found = known->find(real);
        if (found == known->end())
            found = known->emplace(real, grantees(real)).first;
        if (!found->second)
            return uses;
        std::vector<Uid> users = *found->second;
        users.push_back(process.user()); // the creator of its user namespace
        for (const ComputeUse& use : process.uses) {
            if (isGuarded(use.device) && !isOpen(use.device))
                uses.push_back({use.device, holderAmong(users, use.device)});
        }
        return uses;
    };
}

// Returns the users whose grants the kernel checks for a real uid, or nothing if the uid is exempt.
// If the kernel does not answer, no process must end for it.
std::optional<std::vector<Uid>> Isolation::grantees(Uid real) const {
    try {
        const std::optional<Uid> other = gates_.granteeOf(real);
        return other ? std::optional(std::vector{real, *other}) : std::nullopt;
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::optional<Uid> Isolation::holderAmong(const std::vector<Uid>& users,
                                          const DeviceUuid& device) const {
    const auto holder =
        std::ranges::find_if(users, [&](Uid user) { return ledger_.isHeldBy(device, user); });
    return holder == users.end() ? std::nullopt : std::optional(*holder);
}

const std::vector<DeviceNode>& Isolation::nodesOf(const DeviceUuid& device) const {
    static const std::vector<DeviceNode> none;
    const auto found = nodes_.ofDevices.find(device);
    return found == nodes_.ofDevices.end() ? none : found->second;
}

// Returns the nodes that holders of a device may open.
std::vector<DeviceNode> Isolation::grantedNodes(const DeviceUuid& device) const {
    std::vector<DeviceNode> nodes = nodesOf(device);
    const auto rendering = nodes_.rendering.find(device);
    if (settings_().renderNodes && rendering != nodes_.rendering.end())
        nodes.insert(nodes.end(), rendering->second.begin(), rendering->second.end());
    return nodes;
}

bool Isolation::hasNode(const DeviceUuid& device, const DeviceNode& node) const {
    const auto has = [&](const std::map<DeviceUuid, std::vector<DeviceNode>>& nodes) {
        const auto found = nodes.find(device);
        return found != nodes.end() &&
               std::ranges::find(found->second, node) != found->second.end();
    };
    return has(nodes_.ofDevices) || has(nodes_.rendering);
}

std::string Isolation::nameOf(const DeviceNode& node) const {
    if (const auto named = nodes_.named.find(node); named != nodes_.named.end())
        return named->second.name;
    const DeviceFacts* device = deviceWith(node);
    return device != nullptr && device->kind == DeviceKind::Gpu
               ? fmt::format("GPU {}", device->index)
               : fmt::format("{}:{}", node.major, node.minor);
}

bool Isolation::isHeld(const DeviceNode& node, Uid user) const {
    const auto found = devices_.find(node);
    return found != devices_.end() &&
           std::ranges::any_of(found->second, [&](const DeviceUuid& device) {
               return hasNode(device, node) && ledger_.isHeldBy(device, user);
           });
}

// Slurm isolates jobs itself, and a problem in genv must not make a job fail.
bool Isolation::isOpen(const DeviceUuid& device) const {
    const TableDevice* known = ledger_.devices().findUuid(device);
    return (known != nullptr && known->reservedForSlurm) ||
           std::ranges::find(settings_().openDevices, device) != settings_().openDevices.end();
}

bool Isolation::isGuarded(const DeviceUuid& device) const {
    const auto& nodes = nodesOf(device);
    return !nodes.empty() && std::ranges::all_of(nodes, [this](const DeviceNode& node) {
        return guardedMajors_.contains(node.major);
    });
}

} // namespace genv::core
