// SPDX-License-Identifier: LGPL-2.1-or-later
// Attaches an sdbus-c++ connection to the GLib loop. One message is handled per iteration. Its
// changes are thus announced before the next message, and other sources run under load. Messages
// that the intake only queues are read on for a limited time. Reading must not fall behind under a
// flood of messages, because the bus delivers all clients' calls in one queue.
#pragma once

#include "dbus/intake.hpp"

#include <glib.h>
#include <sdbus-c++/sdbus-c++.h>

#include <functional>

namespace genv::service {

class BusSource {
  public:
    /// Calls `closed` once, from the loop, when the connection to the bus is lost. The connection
    /// and its intake must outlive this object.
    BusSource(sdbus::IConnection& connection, dbus::Intake& intake, std::function<void()> closed);
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

    bool isReady();
    bool read();
    void process();
    void close();

    sdbus::IConnection& connection_;
    dbus::Intake& intake_;
    std::function<void()> closed_;
    GSource* source_ = nullptr; // one reference, released by the destructor
    gpointer tag_ = nullptr;
    GIOCondition watched_{};
    gint64 due_ = -1;        ///< next deadline in microseconds; negative: none
    bool isToServe_ = false; ///< the last message was acted on: serve a waiting call next
    bool dead_ = false;
};

} // namespace genv::service
