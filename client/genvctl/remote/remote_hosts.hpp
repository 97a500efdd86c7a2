// SPDX-License-Identifier: LGPL-2.1-or-later
// The part shared by all commands of "genvctl remote": the hosts, the timeout of each, the report
// of failed hosts, and the exit status.
#pragma once

#include "client/genvctl/context/context.hpp"
#include "client/genvctl/context/host_failure.hpp"
#include "client/remote/fleet/gathering.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace genv::ctl {

/// The options of "genvctl remote".
struct HostOptions {
    std::optional<std::string> hosts; ///< -H
    std::optional<std::string> file;  ///< --hostfile
    std::optional<std::string> user;  ///< -l
    std::string timeout = "10s";      ///< -t
    bool exitOnError = false;         ///< -e
    bool quiet = false;               ///< -q

    /// Adds all options to a command. This object must outlive the parsing.
    void addTo(CLI::App& command);

    /// Returns the named hosts without duplicates, with the user of -l if they name no user.
    /// Without -H after "remote", the host of the global option -H is used. Throws Failure(Usage).
    [[nodiscard]] std::vector<remote::Host>
    list(const std::optional<std::string>& globalHost) const;
    /// Returns the timeout of each host.
    [[nodiscard]] std::chrono::milliseconds deadline() const;
};

/// Shows the progress on a line of standard error that is rewritten. Shows nothing if standard
/// error is not a terminal, or with -q.
class HostProgress {
  public:
    HostProgress(const HostOptions& options, std::size_t hosts);
    HostProgress(const HostProgress&) = delete;
    HostProgress& operator=(const HostProgress&) = delete;
    ~HostProgress();

    void update(std::size_t answered);
    /// Clears the line, so that other output can be written.
    void clear();

  private:
    bool shows_;
    std::size_t hosts_;
};

/// Reports the failure of a host on standard error, with its name. Prints nothing with -q.
void reportFailure(const HostOptions& options, const remote::Host& host,
                   const remote::HostFailure& failure);

/// Queries all hosts with `ask(host, bounds)`, shows the progress, reports failures, and returns
/// all results in order. Throws Failure for the first host that fails with -e.
template <typename Value>
std::vector<remote::Gathered<Value>>
askEachHost(const HostOptions& options, const std::vector<remote::Host>& hosts,
            const std::function<Value(const remote::Host&, const remote::SshBounds&)>& ask) {
    HostProgress progress(options, hosts.size());
    remote::GatheringOptions how;
    how.deadline = options.deadline();
    how.stopAtFailure = options.exitOnError;
    std::optional<Failure> first;
    auto all = remote::gather<Value>(hosts, how, ask,
                                     [&](const remote::Gathered<Value>& one, std::size_t answered) {
                                         if (one.failure && options.exitOnError) {
                                             if (!first)
                                                 first = hostFailed(one.host, *one.failure);
                                         } else if (one.failure) {
                                             progress.clear();
                                             reportFailure(options, one.host, *one.failure);
                                         }
                                         progress.update(answered);
                                     });
    progress.clear();
    if (first)
        throw *first;
    return all;
}

/// Returns only the hosts that answered. Throws Failure if none did.
template <typename Value>
std::vector<remote::Gathered<Value>> onlyAnswers(std::vector<remote::Gathered<Value>> all) {
    std::vector<remote::Gathered<Value>> answers;
    std::vector<remote::HostFailure> failures;
    for (remote::Gathered<Value>& one : all) {
        if (one.value)
            answers.push_back(std::move(one));
        else
            failures.push_back(*one.failure);
    }
    if (answers.empty())
        throw noHostAnswered(failures);
    return answers;
}

/// The same as askEachHost(), but returns only the hosts that answered. Throws Failure if none
/// does.
template <typename Value>
std::vector<remote::Gathered<Value>>
askHosts(const HostOptions& options, const std::vector<remote::Host>& hosts,
         const std::function<Value(const remote::Host&, const remote::SshBounds&)>& ask) {
    return onlyAnswers(askEachHost(options, hosts, ask));
}

} // namespace genv::ctl
