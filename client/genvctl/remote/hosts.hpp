// SPDX-License-Identifier: LGPL-2.1-or-later
// What all of "genvctl remote" has in common: which hosts, how long each may take, what is told of
// those that fail, and how the command ends then.
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

    /// Adds all of them to a command. This object must outlive the parsing.
    void addTo(CLI::App& command);

    /// The hosts that were named, each once, with the user of -l where they have none. Throws
    /// Failure(Usage).
    [[nodiscard]] std::vector<remote::Host> list(const Context& context) const;
    /// How long each host may take.
    [[nodiscard]] std::chrono::milliseconds deadline() const;
};

/// Tells how far the work is on a line of standard error that is rewritten; nothing where that is
/// no terminal or with -q.
class HostProgress {
  public:
    HostProgress(const HostOptions& options, std::size_t hosts);
    HostProgress(const HostProgress&) = delete;
    HostProgress& operator=(const HostProgress&) = delete;
    ~HostProgress();

    void update(std::size_t answered);
    /// Removes the line, so that something else can be written.
    void clear();

  private:
    bool shows_;
    std::size_t hosts_;
};

/// Says on standard error, by its name, what is wrong with a host; nothing with -q.
void tellTrouble(const HostOptions& options, const remote::Host& host,
                 const remote::HostFailure& failure);

/// Asks all hosts, `ask(host, bounds)`, shows how far that is, tells of those that fail, and
/// returns what came of each, in order. Throws Failure for the first that fails with -e.
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
                                             tellTrouble(options, one.host, *one.failure);
                                         }
                                         progress.update(answered);
                                     });
    progress.clear();
    if (first)
        throw *first;
    return all;
}

/// Leaves those that answered. Throws Failure where none did.
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

/// As askEachHost(), and returns those that answered. Throws Failure where none does.
template <typename Value>
std::vector<remote::Gathered<Value>>
askHosts(const HostOptions& options, const std::vector<remote::Host>& hosts,
         const std::function<Value(const remote::Host&, const remote::SshBounds&)>& ask) {
    return onlyAnswers(askEachHost(options, hosts, ask));
}

} // namespace genv::ctl
