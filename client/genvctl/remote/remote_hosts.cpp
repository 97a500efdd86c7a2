// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/remote/remote_hosts.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/options/option_values.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "core/sentences/sentences.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace genv::ctl {

namespace {

std::vector<remote::Host> namedHosts(const HostOptions& options,
                                     const std::optional<std::string>& globalHost) {
    if (options.hosts && options.file)
        throw Failure(ExitStatus::Usage, "--host and --hostfile cannot be combined");
    try {
        if (options.file)
            return remote::readHostFile(*options.file);
        if (options.hosts)
            return remote::readHosts(*options.hosts);
        if (globalHost)
            return remote::readHosts(*globalHost);
    } catch (const remote::InvalidHost& error) {
        throw Failure(ExitStatus::Usage, error.what());
    }
    throw Failure(ExitStatus::Usage, "missing option --host or --hostfile",
                  "Name hosts with -H h1,h2, or in a file for --hostfile.");
}

} // namespace

void HostOptions::addTo(CLI::App& command) {
    addOption(command, "-H,--host", hosts, "Use these hosts", {.values = ValueKind::Host})
        ->type_name("[USER@]HOST[:PORT],...");
    addOption(command, "--hostfile", file, "Read hosts from FILE, one per line",
              {.values = ValueKind::File})
        ->type_name("FILE");
    addOption(command, "-l,--username", user, "Log in as USER on hosts that name no user",
              {.values = ValueKind::User})
        ->type_name("USER");
    addOption(command, "-t,--timeout", timeout, "Wait up to TIME for each host [default: 10s]",
              {.values = ValueKind::Free})
        ->type_name("TIME");
    command.add_flag("-e,--exit-on-error", exitOnError, "Exit when the first host fails");
    command.add_flag("-q,--quiet", quiet, "Do not report hosts that fail");
}

std::vector<remote::Host> HostOptions::list(const std::optional<std::string>& globalHost) const {
    std::vector<remote::Host> named = namedHosts(*this, globalHost);
    if (!user)
        return named;
    for (remote::Host& host : named) {
        try {
            if (!host.user)
                host.user = remote::readHost(*user + "@host").user;
        } catch (const remote::InvalidHost&) {
            throw Failure(ExitStatus::Usage,
                          fmt::format("invalid user name \"{}\" for --username", *user));
        }
    }
    // "alice@h1,h1" names h1 in two ways. With "-l alice", both are the same host.
    std::vector<remote::Host> distinct;
    for (remote::Host& host : named) {
        if (std::find(distinct.begin(), distinct.end(), host) == distinct.end())
            distinct.push_back(std::move(host));
    }
    return distinct;
}

std::chrono::milliseconds HostOptions::deadline() const {
    const auto time = readTimeOrSeconds("--timeout", timeout);
    if (time.count() == 0)
        throw Failure(ExitStatus::Usage,
                      "invalid value for --timeout: expected at least one second");
    return time;
}

HostProgress::HostProgress(const HostOptions& options, std::size_t hosts)
    : shows_(!options.quiet && canRewriteAside()), hosts_(hosts) {
    update(0);
}

HostProgress::~HostProgress() {
    clear();
}

void HostProgress::update(std::size_t answered) {
    if (shows_ && answered < hosts_)
        rewriteAside(fmt::format("{} of {} answered", answered,
                                 core::counted(hosts_, "host has", "hosts have")));
}

void HostProgress::clear() {
    if (shows_)
        clearAside();
}

void reportFailure(const HostOptions& options, const remote::Host& host,
                   const remote::HostFailure& failure) {
    if (!options.quiet)
        complain(fmt::format("{}: {}", host.label(), failure.what()), failure.hint());
}

} // namespace genv::ctl
