// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/loop/glib_loop.hpp"

#include <glib-unix.h>

#include <utility>

namespace genv::service {

namespace {

using Function = std::function<void()>;

// GLib carries a function as a pointer. The source's destroy notification frees it.
gpointer giveAway(Function function) {
    return std::make_unique<Function>(std::move(function)).release();
}
void takeBack(gpointer data) {
    const std::unique_ptr<Function> owner(static_cast<Function*>(data));
}

gboolean runOnce(gpointer data) {
    (*static_cast<Function*>(data))();
    return G_SOURCE_REMOVE;
}
gboolean runAgain(gpointer data) {
    (*static_cast<Function*>(data))();
    return G_SOURCE_CONTINUE;
}
gboolean runOnDescriptor(gint /*fd*/, GIOCondition /*condition*/, gpointer data) {
    return runAgain(data);
}

} // namespace

GlibLoop::GlibLoop() : loop_(g_main_loop_new(nullptr, FALSE), &g_main_loop_unref) {}

GlibLoop::~GlibLoop() = default;

int GlibLoop::run() {
    if (!quitting_)
        g_main_loop_run(loop_.get());
    return status_;
}

void GlibLoop::quit(int status) {
    if (!std::exchange(quitting_, true))
        status_ = status;
    g_main_loop_quit(loop_.get());
}

void GlibLoop::soon(Function function) {
    // Use a priority above all descriptors, so that the changes of a message are announced before
    // the next message is read.
    g_idle_add_full(G_PRIORITY_HIGH, runOnce, giveAway(std::move(function)), takeBack);
}

void GlibLoop::post(Function function) {
    g_idle_add_full(G_PRIORITY_DEFAULT, runOnce, giveAway(std::move(function)), takeBack);
}

std::unique_ptr<core::Scheduled> GlibLoop::after(std::chrono::milliseconds delay,
                                                 Function function) {
    // The source is destroyed when it fires. After that its owner must not remove the id, because
    // another source may have it by then.
    struct Timer {
        Function function;
        LoopSource* source = nullptr;
    };
    auto timer = std::make_shared<Timer>();
    timer->function = std::move(function);
    auto run = [timer] {
        timer->source->ended();
        const Function once =
            std::move(timer->function); // outlives its owner, which it may destroy
        once();
    };
    // Do not use g_timeout_add(): its milliseconds overflow after 49 days.
    const std::unique_ptr<GSource, decltype(&g_source_unref)> timeout(g_timeout_source_new(0),
                                                                      &g_source_unref);
    g_source_set_callback(timeout.get(), runOnce, giveAway(std::move(run)), takeBack);
    g_source_set_ready_time(timeout.get(),
                            g_get_monotonic_time() + std::chrono::microseconds(delay).count());
    auto source = std::make_unique<LoopSource>(g_source_attach(timeout.get(), nullptr));
    timer->source = source.get();
    return source;
}

std::unique_ptr<core::Scheduled> GlibLoop::every(std::chrono::milliseconds interval,
                                                 Function function) {
    const bool wholeSeconds = interval.count() % 1000 == 0;
    const auto count =
        static_cast<guint>(wholeSeconds ? interval.count() / 1000 : interval.count());
    const auto add = wholeSeconds ? g_timeout_add_seconds_full : g_timeout_add_full;
    return std::make_unique<LoopSource>(
        add(G_PRIORITY_DEFAULT, count, runAgain, giveAway(std::move(function)), takeBack));
}

std::unique_ptr<core::Scheduled> GlibLoop::onReadable(int fd, Function function) {
    return std::make_unique<LoopSource>(g_unix_fd_add_full(
        G_PRIORITY_DEFAULT, fd, G_IO_IN, runOnDescriptor, giveAway(std::move(function)), takeBack));
}

std::unique_ptr<core::Scheduled> GlibLoop::onHangup(int fd, Function function) {
    return std::make_unique<LoopSource>(
        g_unix_fd_add_full(G_PRIORITY_DEFAULT, fd, G_IO_HUP, runOnDescriptor,
                           giveAway(std::move(function)), takeBack));
}

std::unique_ptr<core::Scheduled> GlibLoop::onSignal(int signal, Function function) {
    return std::make_unique<LoopSource>(g_unix_signal_add_full(
        G_PRIORITY_DEFAULT, signal, runAgain, giveAway(std::move(function)), takeBack));
}

} // namespace genv::service
