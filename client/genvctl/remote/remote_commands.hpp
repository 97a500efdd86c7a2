// SPDX-License-Identifier: LGPL-2.1-or-later
// The subcommands of "genvctl remote". Each function adds those it is named after; the options
// outlive the command line.
#pragma once

#include "client/genvctl/remote/hosts.hpp"

#include <memory>

namespace genv::ctl {

using SharedHostOptions = std::shared_ptr<const HostOptions>;

/// devices, envs and query.
void addRemoteListings(CLI::App& remote, Context& context, const SharedHostOptions& hosts);
/// activate and run.
void addRemoteRun(CLI::App& remote, Context& context, const SharedHostOptions& hosts);
void addRemoteEnforce(CLI::App& remote, Context& context, const SharedHostOptions& hosts);
void addRemoteMonitor(CLI::App& remote, Context& context, const SharedHostOptions& hosts);

} // namespace genv::ctl
