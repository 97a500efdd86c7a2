// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/remote/fleet/host_state.hpp"

#include "client/remote/fleet/old_genv.hpp"
#include "client/remote/fleet/snapshot.hpp"
#include "core/text.hpp"

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

// Returns all objects at one moment, in one call. If the service is not running, a call that has no
// other effect starts it.
Overview overviewOf(Client& client) {
    try {
        return client.overview();
    } catch (const ServiceUnavailable&) {
        client.status();
        return client.overview();
    }
}

using Names = std::map<std::string, std::optional<std::string>>;

HostState stateOfService(Client& client) {
    Overview overview = overviewOf(client);
    HostState state;
    state.conditions = client.deviceConditions();
    Names names;
    for (const Environment& environment : overview.environments) {
        names[environment.id] = environment.configuration.name;
        state.environments.push_back({environment.id, environment.uid, environment.user,
                                      environment.configuration.name, environment.created,
                                      environment.processes});
    }
    for (DeviceState& device : overview.devices) {
        for (Attachment& attachment : device.attachments) {
            attachment.environmentName = names[attachment.environment];
            state.attachments.push_back(std::move(attachment));
        }
        if (device.health == "lost")
            state.lost.insert(device.device.index);
        state.devices.push_back(std::move(device.device));
    }
    return state;
}

HostState stateOfOld(const Snapshot& snapshot) {
    HostState state;
    state.genv = Genv::Old;
    Names names;
    for (const Snapshot::Environment& environment : snapshot.environments) {
        names[environment.id] = environment.name;
        state.environments.push_back({environment.id, environment.uid, environment.user,
                                      environment.name, environment.created,
                                      environment.processes});
    }
    for (const Snapshot::Device& device : snapshot.devices) {
        state.devices.push_back({device.index, {}, {}, device.totalMemory.count});
        for (const Snapshot::Attachment& attachment : device.attachments)
            state.attachments.push_back(
                {device.index, attachment.environment, names[attachment.environment],
                 attachment.share ? std::optional(attachment.share->count) : std::nullopt,
                 attachment.since});
    }
    std::sort(state.devices.begin(), state.devices.end(),
              [](const Device& a, const Device& b) { return a.index < b.index; });
    return state;
}

// Shortens a text to the limit of the service, at a character boundary.
void shorten(std::string& text) {
    if (text.size() <= maxTextLength)
        return;
    std::string_view rest = text;
    std::size_t kept = 0;
    while (core::takeCharacter(rest) && text.size() - rest.size() <= maxTextLength)
        kept = text.size() - rest.size();
    text.resize(kept);
    text += "...";
}

void shorten(std::optional<std::string>& text) {
    if (text)
        shorten(*text);
}

HostState bounded(HostState state) {
    if (state.devices.size() > maxDevices || state.attachments.size() > maxEnvironments ||
        state.environments.size() > maxEnvironments)
        throw HostFailure(Trouble::Failed, "it lists more than any machine has");
    for (Device& device : state.devices) {
        shorten(device.uuid);
        shorten(device.model);
    }
    for (Attachment& attachment : state.attachments) {
        shorten(attachment.environment);
        shorten(attachment.environmentName);
    }
    for (EnvironmentEntry& environment : state.environments) {
        shorten(environment.id);
        shorten(environment.user);
        shorten(environment.name);
    }
    return state;
}

HostState readOldHostState(const Host& host, const SshBounds& bounds) {
    const std::string snapshot = readOldSnapshot(host, bounds);
    try {
        return stateOfOld(parseSnapshot(snapshot));
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
        return bounded(session.use(stateOfService));
    } catch (const HostFailure& failure) {
        if (failure.trouble() != Trouble::NoService)
            throw;
    }
    return bounded(readOldHostState(host, remainingBounds(bounds, began)));
}

} // namespace genv::remote
