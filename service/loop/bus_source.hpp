// SPDX-License-Identifier: LGPL-2.1-or-later
// Attaches the service's connections to the bus to the GLib loop: the main one, and the one for
// questions to the bus, whose replies come first. One message is handled per iteration. Its
// changes are thus announced before the next message, and other sources run under load. Messages
// that the intake only queues are read on for a limited time. Reading must not fall behind under a
// flood of messages, because the bus delivers all clients' calls in one queue.
#pragma once

#include "dbus/calls/intake.hpp"

#include <glib.h>
#include <sdbus-c++/sdbus-c++.h>

#include <functional>
#include <vector>

namespace genv::service {

class BusSource {
  public:
    /// Calls `closed` once, from the loop, when a connection to the bus is lost. The connections
    /// and their intake must outlive this object.
    BusSource(sdbus::IConnection& connection, sdbus::IConnection& questions, dbus::Intake& intake,
              std::function<void()> closed);
    ~BusSource();
    BusSource(const BusSource&) = delete;
    BusSource& operator=(const BusSource&) = delete;

  private:
    struct Source {
        GSource base;
        BusSource* owner;
    };
    static gboolean prepare(GSource* source, gint* timeout);
    static gboolean check(GSource* source);
    static gboolean dispatch(GSource* source, GSourceFunc callback, gpointer data);
    static GSourceFuncs functions;

    struct Watched {
        sdbus::IConnection& connection;
        gpointer tag;
        GIOCondition condition;
    };
    void watch(sdbus::IConnection& connection);

    bool isReady();
    bool isReady(Watched& watched);
    void dueAt(gint64 time);
    bool read();
    void takeReplies();
    void process();
    void close();

    sdbus::IConnection& connection_;
    sdbus::IConnection& questions_;
    dbus::Intake& intake_;
    std::function<void()> closed_;
    GSource* source_ = nullptr; // one reference, released by the destructor
    std::vector<Watched> watched_;
    gint64 due_ = -1;        ///< next deadline in microseconds; negative: none
    bool isToServe_ = false; ///< the last message was acted on: serve a waiting call next
    bool dead_ = false;
};

} // namespace genv::service
