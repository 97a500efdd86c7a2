// SPDX-License-Identifier: LGPL-2.1-or-later
// The service's single event loop. It is GLib's, because libpolkit requires it. Everything except
// workers runs on its thread.
#pragma once

#include "core/ports/scheduler.hpp"

#include <glib.h>

#include <functional>
#include <memory>

namespace genv::service {

/// A source in the loop. The destructor removes it.
class LoopSource : public core::Scheduled {
  public:
    explicit LoopSource(guint id) : id_(id) {}
    LoopSource(const LoopSource&) = delete;
    LoopSource& operator=(const LoopSource&) = delete;
    ~LoopSource() override {
        if (id_ != 0)
            g_source_remove(id_);
    }

    /// Marks the source as already destroyed.
    void ended() { id_ = 0; }

  private:
    guint id_;
};

class GlibLoop : public core::Scheduler {
  public:
    GlibLoop();
    ~GlibLoop() override;
    GlibLoop(const GlibLoop&) = delete;
    GlibLoop& operator=(const GlibLoop&) = delete;

    /// Runs until quit(), and returns the status passed to it.
    int run();
    /// Ends run() after this iteration. If called several times, the first status counts.
    void quit(int status);

    void soon(std::function<void()> function) override;
    [[nodiscard]] std::unique_ptr<core::Scheduled> after(std::chrono::milliseconds delay,
                                                         std::function<void()> function) override;

    /// Runs a function on the loop's thread. May be called from any thread.
    static void post(std::function<void()> function);

    /// Runs a function at regular intervals. If the interval is in whole seconds, the kernel can
    /// group wake-ups.
    [[nodiscard]] static std::unique_ptr<core::Scheduled> every(std::chrono::milliseconds interval,
                                                                std::function<void()> function);
    /// Runs a function whenever a descriptor is readable. The caller keeps the descriptor.
    [[nodiscard]] static std::unique_ptr<core::Scheduled>
    onReadable(int fd, std::function<void()> function);
    /// Runs a function when the other end of a pipe is closed. The caller keeps the descriptor.
    [[nodiscard]] static std::unique_ptr<core::Scheduled> onHangup(int fd,
                                                                   std::function<void()> function);
    /// Runs a function whenever a signal arrives.
    [[nodiscard]] static std::unique_ptr<core::Scheduled> onSignal(int signal,
                                                                   std::function<void()> function);

  private:
    std::unique_ptr<GMainLoop, decltype(&g_main_loop_unref)> loop_;
    int status_ = 0;
    bool quitting_ = false;
};

} // namespace genv::service
