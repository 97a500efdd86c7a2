// SPDX-License-Identifier: LGPL-2.1-or-later
// Sends a test through each channel of notify.conf, in the way of real messages: by units of the
// user's manager.
#pragma once

#include "client/messages/model/configuration.hpp"

#include <map>
#include <string>

namespace genv::ctl {

/// Sends a test to each target, and waits until all have ended. Returns why each failed; empty if
/// it was sent. Throws Failure if there is no user's manager.
std::map<messages::Channel, std::string> tryTargets(const messages::Configuration& targets);

/// Whether genv-notify-core runs for this user.
bool isCoreRunning();

} // namespace genv::ctl
