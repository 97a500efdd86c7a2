// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-notify-core: hears notices of genvd and the ends of jobs, writes down those that its user
// wants, and has them sent. The configuration is read anew for each, so a change counts at once. A
// configuration that cannot be used keeps messages waiting.
#pragma once

#include "client/loop.hpp"
#include "client/loop_bus.hpp"
#include "client/messages/daemon/job_watch.hpp"
#include "client/messages/daemon/stay.hpp"
#include "client/messages/delivery/outbox.hpp"
#include "client/notify/agent.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <map>
#include <memory>
#include <string>

namespace genv::messages {

class Core {
  public:
    /// Throws std::exception if the user's bus or the folder of the messages cannot be used.
    Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    /// Runs until a signal. Returns the exit status.
    int run();

  private:
    void readConfiguration();
    void complain(const std::string& trouble);
    void onNotice(const Notice& notice);
    void add(const MessageEvent& event);
    void runOutboxes();
    void setTimer();
    [[nodiscard]] bool isBusy() const;

    notify::Agent agent_;
    std::unique_ptr<sdbus::IConnection> connection_;
    event::LoopBus bus_;
    std::unique_ptr<sdbus::IConnection> systemConnection_;
    event::LoopBus system_;
    UnitSender sender_;
    event::Deferred turn_;
    event::WallTimer timer_;
    Configuration configuration_;
    bool isUsable_ = false;     ///< whether configuration_ is that of the file
    std::string lastComplaint_; ///< about the configuration
    std::map<Channel, std::unique_ptr<Outbox>> outboxes_;
    JobWatch jobs_;
    Stay stay_;
};

} // namespace genv::messages
