// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/remote/fleet/host_state.hpp"

#include "client/remote/fleet/host_snapshot.hpp"
#include "client/remote/fleet/old_genv.hpp"
#include "core/base/text.hpp"

#include <algorithm>
#include <chrono>
#include <map>

namespace genv::remote {

namespace {

// Far more devices than any machine has. The list comes from another machine and is not trusted.
constexpr std::size_t maxDevices = 4096;
constexpr std::size_t maxEnvironments = 65'536;
// The service limits ids and names to this length, but genv 1 does not.
constexpr std::size_t maxTextLength = 256;
constexpr std::size_t maxSentenceLength = 1024;

Machine machineOf(const Snapshot& snapshot) {
    Machine machine;
    for (const Snapshot::Environment& known : snapshot.environments) {
        Environment& environment = machine.environments.emplace_back();
        environment.id = known.id;
        environment.uid = known.uid;
        environment.user = known.user;
        environment.created = known.created;
        environment.configuration.name = known.name;
        environment.configuration.gpus = known.gpus;
        if (known.gpuMemory)
            environment.configuration.gpuMemoryBytes = known.gpuMemory->count;
        environment.processes = known.processes;
        environment.kernels = known.kernels;
    }
    for (const Snapshot::Device& known : snapshot.devices) {
        DeviceState& state = machine.devices.emplace_back();
        state.device = {known.index, {}, {}, known.totalMemory.count};
        state.isFree = known.attachments.empty();
        for (const Snapshot::Attachment& attachment : known.attachments)
            state.attachments.push_back(
                {known.index, attachment.environment, std::nullopt,
                 attachment.share ? std::optional(attachment.share->count) : std::nullopt,
                 attachment.since});
    }
    std::ranges::sort(machine.devices, {},
                      [](const DeviceState& state) { return state.device.index; });
    return machine;
}

// Shortens a text to a limit, at a character boundary.
void shorten(std::string& text, std::size_t limit = maxTextLength) {
    if (text.size() <= limit)
        return;
    std::string_view rest = text;
    std::size_t kept = 0;
    while (core::takeCharacter(rest) && text.size() - rest.size() <= limit)
        kept = text.size() - rest.size();
    text.resize(kept);
    text += "...";
}

void shorten(std::optional<std::string>& text) {
    if (text)
        shorten(*text);
}

void shortenTexts(Environment& environment) {
    ParkingState& parking = environment.parking;
    for (std::string* text : {&environment.id, &environment.user, &environment.preemptible,
                              &parking.state, &parking.reason, &parking.takenBy})
        shorten(*text);
    shorten(parking.problem, maxSentenceLength);
    for (std::optional<std::string>* text :
         {&environment.configuration.name, &environment.parent, &environment.job})
        shorten(*text);
    for (std::string& kernel : environment.kernels)
        shorten(kernel);
}

void shortenTexts(DeviceState& state) {
    for (std::string* text :
         {&state.device.uuid, &state.device.model, &state.health, &state.pciAddress})
        shorten(*text);
    shorten(state.lockHolder);
    shorten(state.reservedFor);
    for (Attachment& attachment : state.attachments)
        shorten(attachment.environment);
}

// Limits what another machine says, and fills the lists from it.
HostState stateOf(Genv genv, Machine machine) {
    HostState state;
    state.genv = genv;
    std::map<std::string, Environment*> environments;
    for (Environment& environment : machine.environments) {
        shortenTexts(environment);
        environments.emplace(environment.id, &environment);
        state.environments.push_back({environment.id, environment.uid, environment.user,
                                      environment.configuration.name, environment.created,
                                      environment.processes});
    }
    for (DeviceState& device : machine.devices) {
        shortenTexts(device);
        for (const Attachment& attachment : device.attachments) {
            state.attachments.push_back(attachment);
            if (const auto found = environments.find(attachment.environment);
                found != environments.end()) {
                Environment& holder = *found->second;
                state.attachments.back().environmentName = holder.configuration.name;
                if (genv == Genv::Old)
                    holder.devices.push_back(attachment.device);
            }
        }
        if (device.health == "lost")
            state.lost.insert(device.device.index);
        state.conditions[device.device.index] = {device.isFree, device.unaccountedMemoryBytes};
        state.devices.push_back(device.device);
    }
    if (state.devices.size() > maxDevices || state.attachments.size() > maxEnvironments ||
        state.environments.size() > maxEnvironments)
        throw HostFailure(Trouble::Failed, "it lists more than any machine has");
    state.machine = std::move(machine);
    return state;
}

HostState readOldHostState(const Host& host, const SshBounds& bounds) {
    const std::string snapshot = readOldSnapshot(host, bounds);
    try {
        return stateOf(Genv::Old, machineOf(parseSnapshot(snapshot)));
    } catch (const InvalidSnapshot& error) {
        throw HostFailure(Trouble::Failed, error.what(), noisyShellHint);
    }
}

} // namespace

bool HostState::isAvailable(const Device& device) const {
    if (lost.contains(device.index))
        return false;
    for (const Attachment& attachment : attachments) {
        if (attachment.device == device.index)
            return false;
    }
    return true;
}

bool HostState::isFree(const Device& device) const {
    const auto condition = conditions.find(device.index);
    return condition == conditions.end() ? isAvailable(device) : condition->second.isFree;
}

std::uint64_t HostState::unaccountedBytes(const Device& device) const {
    const auto condition = conditions.find(device.index);
    return condition == conditions.end() ? 0 : condition->second.unaccountedMemoryBytes;
}

HostState readHostState(const Host& host, const SshBounds& bounds) {
    // The failure path reads this value; the analyzer does not follow it.
    // NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores)
    const auto began = std::chrono::steady_clock::now();
    try {
        Session session(host, bounds);
        return stateOf(Genv::Service, session.use([](Client& client) { return client.machine(); }));
    } catch (const HostFailure& failure) {
        if (failure.trouble() != Trouble::NoService)
            throw;
    }
    return readOldHostState(host, remainingBounds(bounds, began));
}

} // namespace genv::remote
