// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/remote/remote_commands.hpp"

namespace genv::ctl {

void addRemoteMonitor(CLI::App& /*remote*/, Context& /*context*/,
                      const SharedHostOptions& /*hosts*/) {}

} // namespace genv::ctl
