// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/bus_source.hpp"

#include <poll.h>

#include <limits>
#include <utility>

namespace genv::service {

namespace {

GIOCondition conditionOf(short events) {
    int condition = 0;
    if ((events & POLLIN) != 0)
        condition |= G_IO_IN;
    if ((events & POLLOUT) != 0)
        condition |= G_IO_OUT;
    return static_cast<GIOCondition>(condition | G_IO_HUP | G_IO_ERR);
}

// How long calls are read and put in line before one of them is served.
constexpr gint64 longestReading = 10'000; // microseconds

// Nothing tells when the bus has read what it was sent, so that is looked at again after this.
constexpr gint64 untilBusIsFree = 500; // microseconds

// A loop that waited this long found nothing to do; else its turns follow one another.
constexpr gint64 idleMoment = 20; // microseconds

} // namespace

GSourceFuncs BusSource::functions = {prepare, check, dispatch, nullptr, nullptr, nullptr};

BusSource::BusSource(sdbus::IConnection& connection, dbus::Intake& intake,
                     std::function<void()> closed)
    : connection_(connection), intake_(intake), closed_(std::move(closed)) {
    const auto data = connection_.getEventLoopPollData();
    source_ = g_source_new(&functions, sizeof(Source));
    reinterpret_cast<Source*>(source_)->owner = this;
    watched_ = conditionOf(data.events);
    tag_ = g_source_add_unix_fd(source_, data.fd, watched_);
    g_source_attach(source_, nullptr);
}

BusSource::~BusSource() {
    g_source_destroy(source_);
    g_source_unref(source_);
}

gboolean BusSource::prepare(GSource* source, gint* timeout) {
    *timeout = -1; // sd-bus's own deadlines are set as the source's ready time
    return static_cast<gboolean>(reinterpret_cast<Source*>(source)->owner->isReady());
}

gboolean BusSource::check(GSource* source) {
    BusSource& self = *reinterpret_cast<Source*>(source)->owner;
    if (self.dead_)
        return FALSE;
    if (g_get_monotonic_time() - self.prepared_ > idleMoment)
        self.intake_.wasIdle();
    const gint64 due = g_source_get_ready_time(source);
    return static_cast<gboolean>(g_source_query_unix_fd(source, self.tag_) != 0 ||
                                 (due >= 0 && due <= g_source_get_time(source)));
}

gboolean BusSource::dispatch(GSource* source, GSourceFunc /*callback*/, gpointer /*data*/) {
    reinterpret_cast<Source*>(source)->owner->process();
    return G_SOURCE_CONTINUE;
}

bool BusSource::isReady() {
    if (dead_)
        return false;
    try {
        const auto data = connection_.getEventLoopPollData();
        const GIOCondition wanted = conditionOf(data.events);
        // Modifying wakes the loop, so it is done only when there is something to modify: else the
        // loop spins.
        if (wanted != watched_) {
            watched_ = wanted;
            g_source_modify_unix_fd(source_, tag_, wanted);
        }
        if (data.timeout_usec == 0 || (intake_.isWaiting() && intake_.isBusFree()))
            return true; // messages are queued already, and no descriptor will say so
        prepared_ = g_get_monotonic_time();
        const bool never = data.timeout_usec == std::numeric_limits<std::uint64_t>::max();
        gint64 due = never ? -1 : static_cast<gint64>(data.timeout_usec);
        if (intake_.isWaiting() && (never || due > prepared_ + untilBusIsFree))
            due = prepared_ + untilBusIsFree;
        g_source_set_ready_time(source_, due);
        return false;
    } catch (const sdbus::Error&) {
        close();
        return false;
    }
}

void BusSource::process() {
    try {
        const gint64 until = g_get_monotonic_time() + longestReading;
        bool isThere = false;
        do {
            intake_.begin();
            isThere = connection_.processPendingRequest();
            if (isThere && !intake_.keptLast())
                return; // it was acted on
        } while (isThere && g_get_monotonic_time() < until);
        intake_.serveNext();
    } catch (const sdbus::Error&) {
        close();
    }
}

void BusSource::close() {
    if (std::exchange(dead_, true))
        return;
    g_source_set_ready_time(source_, -1);
    g_source_remove_unix_fd(source_, tag_);
    closed_();
}

} // namespace genv::service
