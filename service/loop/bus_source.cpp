// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/loop/bus_source.hpp"

#include "dbus/contract/sdbus_compat.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
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

// How long messages are read before a call is served.
constexpr gint64 maxReadingTime = 10'000; // microseconds

// Returns the time until `due` as a timeout for poll().
gint millisecondsUntil(gint64 due) {
    const gint64 remaining = std::max<gint64>(due - g_get_monotonic_time(), 0);
    return static_cast<gint>(std::min<gint64>((remaining + 999) / 1000, G_MAXINT));
}

} // namespace

GSourceFuncs BusSource::functions = {prepare, check, dispatch, nullptr, nullptr, nullptr};

BusSource::BusSource(sdbus::IConnection& connection, sdbus::IConnection& questions,
                     dbus::Intake& intake, std::function<void()> closed)
    : connection_(connection), questions_(questions), intake_(intake), closed_(std::move(closed)) {
    source_ = g_source_new(&functions, sizeof(Source));
    reinterpret_cast<Source*>(source_)->owner = this;
    watch(connection_);
    watch(questions_);
    g_source_attach(source_, nullptr);
}

void BusSource::watch(sdbus::IConnection& connection) {
    const auto data = connection.getEventLoopPollData();
    const GIOCondition condition = conditionOf(data.events);
    watched_.push_back({connection, g_source_add_unix_fd(source_, data.fd, condition), condition});
}

BusSource::~BusSource() {
    g_source_destroy(source_);
    g_source_unref(source_);
}

gboolean BusSource::prepare(GSource* source, gint* timeout) {
    BusSource& self = *reinterpret_cast<Source*>(source)->owner;
    if (self.isReady())
        return TRUE;
    *timeout = self.due_ < 0 ? -1 : millisecondsUntil(self.due_);
    return FALSE;
}

gboolean BusSource::check(GSource* source) {
    const BusSource& self = *reinterpret_cast<Source*>(source)->owner;
    if (self.dead_)
        return FALSE;
    const bool hasEvents = std::ranges::any_of(self.watched_, [source](const Watched& watched) {
        return g_source_query_unix_fd(source, watched.tag) != 0;
    });
    return static_cast<gboolean>(hasEvents ||
                                 (self.due_ >= 0 && self.due_ <= g_source_get_time(source)));
}

gboolean BusSource::dispatch(GSource* source, GSourceFunc /*callback*/, gpointer /*data*/) {
    reinterpret_cast<Source*>(source)->owner->process();
    return G_SOURCE_CONTINUE;
}

// The deadline is set as the timeout of the poll, not as the source's ready time. Setting a ready
// time wakes the loop, so a deadline that keeps moving would make the loop spin.
bool BusSource::isReady() {
    due_ = -1;
    if (dead_)
        return false;
    try {
        if (std::ranges::any_of(watched_, [this](Watched& watched) { return isReady(watched); }))
            return true;
        if (const auto wait = intake_.untilNext()) {
            dueAt(g_get_monotonic_time() +
                  std::chrono::ceil<std::chrono::microseconds>(*wait).count());
            return wait->count() == 0;
        }
    } catch (const sdbus::Error&) {
        close();
    }
    return false;
}

bool BusSource::isReady(Watched& watched) {
    const auto data = watched.connection.getEventLoopPollData();
    const GIOCondition wanted = conditionOf(data.events);
    // Modifying also wakes the loop, so do it only on a change.
    if (wanted != watched.condition) {
        watched.condition = wanted;
        g_source_modify_unix_fd(source_, watched.tag, wanted);
    }
    if (const auto due = dbus::compat::dueOf(data)) {
        if (due->count() == 0)
            return true; // queued messages do not make the descriptor readable
        dueAt(due->count());
    }
    return false;
}

// Sets the deadline, unless an earlier one is set.
void BusSource::dueAt(gint64 time) {
    due_ = due_ < 0 ? time : std::min(due_, time);
}

// Nobody else sends to this connection, so there are few: one for each new client.
void BusSource::takeReplies() {
    while (dbus::compat::processPending(questions_)) {
    }
}

// Returns whether a message was acted on.
bool BusSource::read() {
    const gint64 until = g_get_monotonic_time() + maxReadingTime;
    do {
        intake_.begin();
        if (!dbus::compat::processPending(connection_))
            return false;
        if (!intake_.tookLast())
            return true;
    } while (g_get_monotonic_time() < until);
    return false;
}

void BusSource::process() {
    try {
        takeReplies();
        if (!std::exchange(isToServe_, false) && read()) {
            isToServe_ = true;
            return;
        }
        intake_.serveNext();
        // Repeat the call, because it first flushes output that could not be sent earlier.
        while (intake_.isServing() && dbus::compat::processPending(connection_)) {
        }
    } catch (const sdbus::Error&) {
        close();
    }
}

void BusSource::close() {
    if (std::exchange(dead_, true))
        return;
    for (const Watched& watched : watched_)
        g_source_remove_unix_fd(source_, watched.tag);
    closed_();
}

} // namespace genv::service
