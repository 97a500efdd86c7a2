// SPDX-License-Identifier: LGPL-2.1-or-later
// The subcommands of "genvctl remote". Each function adds the commands in its comment. The options
// must outlive the command line.
#pragma once

#include "client/genvctl/remote/remote_hosts.hpp"

#include <memory>

namespace genv::ctl {

using SharedHostOptions = std::shared_ptr<const HostOptions>;

/// Adds devices, envs and query.
void addRemoteListings(CLI::App& remote, Context& context, const SharedHostOptions& hosts);
/// Adds activate and run.
void addRemoteRun(CLI::App& remote, Context& context, const SharedHostOptions& hosts);
void addRemoteEnforce(CLI::App& remote, Context& context, const SharedHostOptions& hosts);
void addRemoteMonitor(CLI::App& remote, Context& context, const SharedHostOptions& hosts);

} // namespace genv::ctl
