// SPDX-License-Identifier: LGPL-2.1-or-later
// The process of genv-jobs: its loop, its two buses, the database and its end. It ends when no job
// is unfinished and no call has come for a while; the next call starts it again.
#pragma once

#include "client/jobs/daemon/engine.hpp"
#include "client/jobs/daemon/jobs_object.hpp"
#include "client/jobs/files/places.hpp"
#include "client/jobs/store/folder_lock.hpp"
#include "client/jobs/store/sqlite_store.hpp"
#include "client/loop.hpp"
#include "client/loop_bus.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace genv::jobs {

struct DaemonOptions {
    std::chrono::milliseconds idleTimeout{10'000};
    std::string runner; ///< path of genv-job
};

class Daemon {
  public:
    /// Throws std::exception if a bus cannot be reached.
    explicit Daemon(DaemonOptions options);
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    /// Runs until the end. Returns the exit status.
    int run();

  private:
    static int onSignal(sd_event_source* source, const signalfd_siginfo* info, void* daemon);

    void open();
    [[nodiscard]] bool isIdle() const;
    void onActivity();
    void onIdle();
    void onReleased();

    const DaemonOptions options_;
    event::EventLoop loop_;
    std::unique_ptr<sdbus::IConnection> userConnection_;
    std::unique_ptr<sdbus::IConnection> systemConnection_;
    event::LoopBus user_;
    event::LoopBus system_;
    event::Timer idle_;
    JobsObject object_;
    std::optional<Places> places_;
    std::optional<JobsLock> lock_;
    std::optional<SqliteStore> store_;
    std::optional<Engine> engine_; ///< absent if the database cannot be used
};

} // namespace genv::jobs
