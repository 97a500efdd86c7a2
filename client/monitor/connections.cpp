// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/connections.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <memory>

namespace genv::monitor {

// The context that libmicrohttpd stores for a connection is its position in the list.
Connections::Place* Connections::placeOf(MHD_Connection* connection) {
    const MHD_ConnectionInfo* info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != nullptr ? static_cast<Place*>(info->socket_context) : nullptr;
}

void Connections::onConnection(void* self, MHD_Connection* connection, void** context,
                               MHD_ConnectionNotificationCode code) {
    auto& connections = *static_cast<Connections*>(self);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        connections.started(connection, context);
        return;
    }
    const std::unique_ptr<Place> place(static_cast<Place*>(*context));
    *context = nullptr;
    if (!place)
        return;
    // libmicrohttpd closes the socket only afterwards, so no other connection with the same
    // descriptor is shut down.
    const std::lock_guard lock(connections.mutex_);
    connections.connections_.erase(*place);
}

void Connections::started(MHD_Connection* connection, void** context) {
    const MHD_ConnectionInfo* info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == nullptr)
        return;
    const std::lock_guard lock(mutex_);
    connections_.push_back({info->connect_fd, false});
    *context = std::make_unique<Place>(std::prev(connections_.end())).release();
    if (connections_.size() > max_)
        endOldestIdle();
}

void Connections::beginRequest(MHD_Connection* connection) {
    setBusy(connection, true);
}

void Connections::onRequestOver(void* self, MHD_Connection* connection, void** /*context*/,
                                MHD_RequestTerminationCode /*code*/) {
    static_cast<Connections*>(self)->setBusy(connection, false);
}

void Connections::setBusy(MHD_Connection* connection, bool isBusy) {
    const Place* place = placeOf(connection);
    if (place == nullptr)
        return;
    const std::lock_guard lock(mutex_);
    (*place)->isBusy = isBusy;
    connections_.splice(connections_.end(), connections_, *place);
}

void Connections::endOldestIdle() {
    const auto idle = std::find_if(connections_.begin(), connections_.end(),
                                   [](const Connection& each) { return !each.isBusy; });
    if (idle == connections_.end())
        return;
    shutdown(idle->socket, SHUT_RDWR); // the connection's thread notices this and reports the end
    idle->isBusy = true;               // do not choose it again
}

} // namespace genv::monitor
