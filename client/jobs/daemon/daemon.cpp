// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/daemon.hpp"

#include "core/base/text.hpp"
#include "dbus/contract/jobs_names.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <utility>

namespace genv::jobs {

namespace {

namespace contract = dbus::contract;
using event::check;
using namespace std::chrono_literals;

// A genv-jobs that was replaced or killed may take a moment to end.
JobsLock waitForLock(const std::filesystem::path& path) {
    constexpr int tries = 50;
    for (int left = tries;; --left) {
        try {
            return JobsLock(path);
        } catch (const JobError&) {
            if (left == 0)
                throw;
        }
        std::this_thread::sleep_for(100ms);
    }
}

} // namespace

Daemon::Daemon(DaemonOptions options)
    : options_(std::move(options)), loop_(event::makeLoop()),
      userConnection_(sdbus::createSessionBusConnection()),
      systemConnection_(sdbus::createSystemBusConnection()), user_(*userConnection_, loop_.get()),
      system_(*systemConnection_, loop_.get()), idle_(loop_.get(), [this] { onIdle(); }),
      object_(*userConnection_, [this] { onActivity(); }) {
    for (const int signal : {SIGTERM, SIGINT})
        check(sd_event_add_signal(loop_.get(), nullptr, signal | SD_EVENT_SIGNAL_PROCMASK,
                                  &Daemon::onSignal, this),
              "a signal");
    open();
    onActivity();
    // The bus answers in order: whether the user's manager runs is known before the first call.
    dbus::compat::requestName(*userConnection_, contract::jobsBusName);
}

// A database that cannot be used is told to each caller: the user sees it, and nothing is started
// again and again.
void Daemon::open() {
    try {
        places_ = places();
        create(*places_);
        lock_.emplace(waitForLock(places_->lock));
        store_.emplace(places_->database);
        engine_.emplace(*store_, *places_, TaskScheduler::Buses{user_, system_}, loop_.get(),
                        ::getuid(), options_.runner,
                        [this](const auto& added, const auto& changed) {
                            object_.emit(added, changed);
                            onActivity();
                        });
        object_.use(*engine_);
    } catch (const JobError& error) {
        std::fprintf(stderr, "genv-jobs: %s\n", error.what());
        object_.refuseAll(error.what());
    }
}

int Daemon::run() {
    return check(sd_event_loop(loop_.get()), "the loop");
}

int Daemon::onSignal(sd_event_source* source, const signalfd_siginfo* /*info*/, void* /*daemon*/) {
    return sd_event_exit(sd_event_source_get_event(source), EXIT_SUCCESS);
}

bool Daemon::isIdle() const {
    return object_.openCalls() == 0 && (!engine_ || !engine_->isUnfinished());
}

void Daemon::onActivity() {
    idle_.stop();
    if (!engine_ || !engine_->isUnfinished())
        idle_.start(options_.idleTimeout);
}

// Once the bus has taken the name back, every call to this process has arrived.
void Daemon::onIdle() {
    if (!isIdle()) {
        onActivity();
        return;
    }
    sdbus::MethodCall release = user_.callBus("ReleaseName");
    release << contract::jobsBusName;
    user_.send(release, event::LoopBus::endless,
               [this](const event::BusReply& /*reply*/) { onReleased(); });
}

void Daemon::onReleased() {
    if (isIdle()) {
        sd_event_exit(loop_.get(), EXIT_SUCCESS);
        return;
    }
    dbus::compat::requestName(*userConnection_, contract::jobsBusName);
    onActivity();
}

} // namespace genv::jobs
