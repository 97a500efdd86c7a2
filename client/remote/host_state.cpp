// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/remote/host_state.hpp"

#include <map>

namespace genv::remote {

namespace {

// All at one moment, in one call. A service that is not running is started by a call that does no
// more than that.
Overview overviewOf(Client& client) {
    try {
        return client.overview();
    } catch (const ServiceUnavailable&) {
        client.status();
        return client.overview();
    }
}

HostState stateOfService(Client& client) {
    Overview overview = overviewOf(client);
    HostState state;
    std::map<std::string, std::optional<std::string>> names;
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
        state.devices.push_back(std::move(device.device));
    }
    return state;
}

} // namespace

bool HostState::isFree(const Device& device) const {
    for (const Attachment& attachment : attachments) {
        if (attachment.device == device.index)
            return false;
    }
    return true;
}

HostState readHostState(const Host& host, const SshBounds& bounds) {
    Session session(host, bounds);
    return session.use(stateOfService);
}

HostSnapshot readHostSnapshot(const Host& /*host*/, const SshBounds& /*bounds*/) {
    throw HostFailure(Trouble::Failed, "not there yet");
}

} // namespace genv::remote
