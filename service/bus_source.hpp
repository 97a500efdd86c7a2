// SPDX-License-Identifier: LGPL-2.1-or-later
// Hangs an sdbus-c++ connection on the GLib loop. One message is processed per turn, so that what
// it changed is told before the next one is read, and other sources get their turn under load.
#pragma once

#include <glib.h>
#include <sdbus-c++/sdbus-c++.h>

#include <functional>

namespace genv::service {

class BusSource {
  public:
    /// `closed` is told once, from the loop, when the bus is gone. The connection outlives this.
    BusSource(sdbus::IConnection& connection, std::function<void()> closed);
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
    void process();
    void close();

    sdbus::IConnection& connection_;
    std::function<void()> closed_;
    GSource* source_ = nullptr; // one reference, given back by the destructor
    gpointer tag_ = nullptr;
    GIOCondition watched_{};
    bool dead_ = false;
};

} // namespace genv::service
