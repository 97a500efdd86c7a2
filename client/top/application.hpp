// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-top on a terminal: one loop over keys, signals and messages. It never calls the service.
#pragma once

#include "client/top/screen.hpp"
#include "client/top/top_options.hpp"

#include <memory>

namespace genv::top {

struct Surroundings {
    bool isCluster = false;
    bool mayTerminate = true;
    bool hasUserBus = false; ///< as DBUS_SESSION_BUS_ADDRESS names it
    Charset charset = Charset::Unicode;
};

/// Blocks signals and returns a descriptor that reports them. Must precede all threads. Throws
/// std::system_error.
int blockSignals();

/// Runs until the user quits or a signal ends it.
void runApplication(std::unique_ptr<Screen> screen, int signals, const TopOptions& options,
                    const Surroundings& surroundings);

} // namespace genv::top
