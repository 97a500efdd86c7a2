// SPDX-License-Identifier: LGPL-2.1-or-later
// Hangs an sdbus-c++ connection on the GLib loop. One message is acted on per turn, so that what
// it changed is told before the next one is, and other sources get their turn under load. What the
// intake merely takes is read on, for a bounded time: under a flood, reading must not fall behind,
// since the bus hands everybody's calls over in one queue.
#pragma once

#include "dbus/intake.hpp"

#include <glib.h>
#include <sdbus-c++/sdbus-c++.h>

#include <functional>

namespace genv::service {

class BusSource {
  public:
    /// `closed` is told once, from the loop, when the bus is gone. The connection and its intake
    /// outlive this.
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
    GSource* source_ = nullptr; // one reference, given back by the destructor
    gpointer tag_ = nullptr;
    GIOCondition watched_{};
    gint64 due_ =
        -1; ///< when there is something to do in any case, in microseconds; negative: never
    bool isToServe_ = false; ///< what was read last was acted on: a call that waits is next
    bool dead_ = false;
};

} // namespace genv::service
