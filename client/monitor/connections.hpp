// SPDX-License-Identifier: LGPL-2.1-or-later
// The connections to the web server. Every local user has the same address, so a limit per address
// would let one of them keep Prometheus out with connections that ask for nothing. A new connection
// is always let in instead: where there are too many, the one that has been idle for longest ends.
// A connection is idle until its request is complete, and again once it is answered.
#pragma once

#include <microhttpd.h>

#include <cstddef>
#include <list>
#include <mutex>

namespace genv::monitor {

/// Used by the threads of libmicrohttpd; outlives its daemon.
class Connections {
  public:
    explicit Connections(std::size_t max) : max_(max) {}
    Connections(const Connections&) = delete;
    Connections& operator=(const Connections&) = delete;

    /// MHD_NotifyConnectionCallback, with the object as its closure.
    static void onConnection(void* self, MHD_Connection* connection, void** context,
                             MHD_ConnectionNotificationCode code);
    /// A connection's request is complete, and is answered from now on.
    void beginRequest(MHD_Connection* connection);
    /// MHD_RequestCompletedCallback: a request is answered, or never will be.
    static void onRequestOver(void* self, MHD_Connection* connection, void** context,
                              MHD_RequestTerminationCode code);

  private:
    struct Connection {
        int socket = -1;
        bool isBusy = false;
    };
    using Place = std::list<Connection>::iterator;

    static Place* placeOf(MHD_Connection* connection);
    void started(MHD_Connection* connection, void** context);
    void setBusy(MHD_Connection* connection, bool isBusy);
    void endLongestIdle();

    const std::size_t max_;
    std::mutex mutex_;
    std::list<Connection> connections_; ///< the one that has been idle for longest first
};

} // namespace genv::monitor
