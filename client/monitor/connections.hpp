// SPDX-License-Identifier: LGPL-2.1-or-later
// The connections to the web server. All local users have the same address. With a limit for each
// address, one of them could lock Prometheus out with connections that send no request. New
// connections are therefore always accepted: if there are too many, the connection that has been
// idle longest is closed. A connection is idle until its request is complete, and again after the
// response.
#pragma once

#include <microhttpd.h>

#include <cstddef>
#include <list>
#include <mutex>

namespace genv::monitor {

/// Used by the threads of libmicrohttpd. Must outlive its daemon.
class Connections {
  public:
    explicit Connections(std::size_t max) : max_(max) {}
    Connections(const Connections&) = delete;
    Connections& operator=(const Connections&) = delete;

    /// An MHD_NotifyConnectionCallback, with this object as its closure.
    static void onConnection(void* self, MHD_Connection* connection, void** context,
                             MHD_ConnectionNotificationCode code);
    /// Called when a connection's request is complete, and its response begins.
    void beginRequest(MHD_Connection* connection);
    /// An MHD_RequestCompletedCallback: a response is complete, or never will be.
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
    void endOldestIdle();

    const std::size_t max_;
    std::mutex mutex_;
    std::list<Connection> connections_; ///< the longest idle connection first
};

} // namespace genv::monitor
