// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/remote/fleet_cycles.hpp"

#include "client/genvctl/terminal/terminal.hpp"
#include "client/remote/fleet/fleet_host.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>
#include <system_error>
#include <thread>

namespace genv::ctl {

namespace {

using remote::FleetHost;
using remote::HostFailure;
using remote::Trouble;

/// Cancels when a descriptor becomes readable during the lifetime of this object.
class CancelWhenReadable {
  public:
    CancelWhenReadable(int descriptor, remote::Cancellation& cancellation)
        : end_(eventfd(0, EFD_CLOEXEC)) {
        if (end_.get() < 0)
            throw std::system_error(errno, std::generic_category(), "waiting for hosts");
        thread_ = std::jthread([end = end_.get(), descriptor, &cancellation] {
            std::array<pollfd, 2> watched{pollfd{descriptor, POLLIN, 0}, pollfd{end, POLLIN, 0}};
            while (poll(watched.data(), watched.size(), -1) < 0 && errno == EINTR) {
            }
            if (watched[0].revents != 0)
                cancellation.cancel();
        });
    }
    CancelWhenReadable(const CancelWhenReadable&) = delete;
    CancelWhenReadable& operator=(const CancelWhenReadable&) = delete;
    ~CancelWhenReadable() { eventfd_write(end_.get(), 1); }

  private:
    client::Descriptor end_;
    std::jthread thread_; // declared last, to join it before the descriptor is closed
};

} // namespace

/// The hosts that answered, and their answers.
struct FleetCycles::Answers {
    std::vector<std::size_t> which;
    std::vector<FleetHost> hosts; ///< in the same order as `which`
};

FleetCycles::FleetCycles(const HostOptions& options, std::vector<remote::Host> hosts,
                         remote::FleetRules rules)
    : options_(options), hosts_(std::move(hosts)), rules_(std::move(rules)) {}

void FleetCycles::report(Troubles& troubles, std::size_t host, const HostFailure& failure) const {
    const auto known = troubles.find(host);
    if (known == troubles.end() || known->second.trouble() != failure.trouble())
        reportFailure(options_, hosts_[host], failure);
    troubles.insert_or_assign(host, failure);
}

template <typename Value>
std::vector<remote::Gathered<Value>>
FleetCycles::gather(const std::vector<std::size_t>& which, std::chrono::milliseconds deadline,
                    Troubles& troubles, remote::Cancellation& cancellation,
                    const std::function<Value(std::size_t, const remote::SshBounds&)>& ask) {
    std::vector<remote::Host> hosts;
    for (const std::size_t host : which)
        hosts.push_back(hosts_[host]);
    const auto indexOf = [&](const remote::Host& host) {
        const auto found = std::find(hosts_.begin(), hosts_.end(), host);
        return static_cast<std::size_t>(found - hosts_.begin());
    };
    HostProgress progress(options_, hosts.size());
    std::optional<Failure> first;
    auto all = remote::gather<Value>(
        hosts, {deadline, options_.exitOnError},
        [&](const remote::Host& host, const remote::SshBounds& bounds) {
            if (cancellation.isCancelled())
                throw HostFailure(Trouble::Cancelled, "given up");
            return ask(indexOf(host), {bounds.deadline, &cancellation});
        },
        [&](const remote::Gathered<Value>& one, std::size_t answered) {
            const bool counts = one.failure && one.failure->trouble() != Trouble::Cancelled;
            if (counts && options_.exitOnError) {
                if (!first)
                    first = hostFailed(one.host, *one.failure);
                cancellation.cancel();
            } else if (counts) {
                progress.clear();
                report(troubles, indexOf(one.host), *one.failure);
            } else if (one.value) {
                troubles.erase(indexOf(one.host));
            }
            progress.update(answered);
        });
    progress.clear();
    if (first)
        throw *first;
    return all;
}

FleetCycles::Answers FleetCycles::read(remote::Cancellation& cancellation) {
    std::vector<std::size_t> everyone(hosts_.size());
    std::iota(everyone.begin(), everyone.end(), std::size_t{0});
    auto all = gather<FleetHost>(everyone, options_.deadline(), unread_, cancellation,
                                 [&](std::size_t host, const remote::SshBounds& bounds) {
                                     return remote::readFleetHost(hosts_[host], bounds);
                                 });
    Answers answers;
    std::vector<HostFailure> failures;
    for (std::size_t host = 0; host < all.size(); ++host) {
        if (all[host].failure) {
            failures.push_back(*all[host].failure);
            continue;
        }
        answers.which.push_back(host);
        answers.hosts.push_back(*std::move(all[host].value));
    }
    if (answers.which.empty() && isFirst_ && !cancellation.isCancelled())
        throw noHostAnswered(failures);
    isFirst_ = false;
    return answers;
}

// Otherwise, the devices that users hold there would be counted twice.
void FleetCycles::leaveOutSameMachines(Answers& answers) {
    const auto same = remote::sameMachines(answers.hosts);
    Answers each;
    for (std::size_t i = 0; i < same.size(); ++i) {
        if (same[i]) {
            const std::string first = hosts_[answers.which[*same[i]]].label();
            report(unread_, answers.which[i],
                   {Trouble::Failed, "same machine as " + first,
                    "Skipping this name. Name each machine once."});
            continue;
        }
        each.which.push_back(answers.which[i]);
        each.hosts.push_back(std::move(answers.hosts[i]));
    }
    answers = std::move(each);
}

void FleetCycles::reportUnknownProcesses(const Answers& answers) {
    for (std::size_t i = 0; i < answers.which.size(); ++i) {
        const std::size_t unknown = answers.hosts[i].unknownProcesses;
        if (unknown == 0) {
            unjudged_.erase(answers.which[i]);
            continue;
        }
        report(unjudged_, answers.which[i],
               {Trouble::Failed,
                fmt::format("{} without a known environment {} not judged: the genv 1 there shows "
                            "the environments of other users' processes to root only",
                            unknown == 1 ? "a process" : fmt::format("{} processes", unknown),
                            unknown == 1 ? "is" : "are"),
                fmt::format("Log in as root (root@{}; \"-l root\" for all hosts).",
                            hosts_[answers.which[i]].name)});
    }
}

void FleetCycles::carryOut(const Answers& answers, const remote::FleetDecision& decision,
                           remote::Cancellation& cancellation, std::vector<FleetAction>& actions) {
    using Done = std::vector<EnforcementAction>;
    std::vector<std::size_t> ordered;
    std::map<std::size_t, std::size_t> positions; // of each host among the answers
    for (std::size_t i = 0; i < answers.which.size(); ++i) {
        if (decision.orders[i].report.empty()) {
            undone_.erase(answers.which[i]);
            continue;
        }
        ordered.push_back(answers.which[i]);
        positions[answers.which[i]] = i;
    }
    if (ordered.empty())
        return;
    const auto all = gather<Done>(
        ordered, options_.deadline() + timeToCarryOut, undone_, cancellation,
        [&](std::size_t host, const remote::SshBounds& bounds) {
            const std::size_t position = positions.at(host);
            return remote::carryOut(hosts_[host], answers.hosts[position].genv,
                                    decision.orders[position], rules_.terminate, bounds);
        });
    for (const remote::Gathered<Done>& one : all) {
        for (const EnforcementAction& action : one.value.value_or(Done{}))
            actions.push_back({one.host.label(), action});
    }
}

std::vector<FleetAction> FleetCycles::run(int stopDescriptor) {
    remote::Cancellation cancellation;
    std::optional<CancelWhenReadable> watch;
    if (stopDescriptor >= 0)
        watch.emplace(stopDescriptor, cancellation);
    Answers answers = read(cancellation);
    leaveOutSameMachines(answers);
    reportUnknownProcesses(answers);
    std::vector<FleetAction> actions;
    if (cancellation.isCancelled())
        return actions; // some hosts were canceled before they answered
    const remote::FleetDecision decision = decide(answers.hosts, rules_);
    const auto labelOf = [&](std::size_t i) { return hosts_[answers.which[i]].label(); };
    for (const remote::FleetFinding& found : decision.findings)
        actions.push_back(
            {found.host ? std::optional(labelOf(*found.host)) : std::nullopt, found.finding});
    if (!rules_.isDryRun) {
        carryOut(answers, decision, cancellation, actions);
        return actions;
    }
    for (std::size_t i = 0; i < answers.which.size(); ++i) {
        for (const EnforcementAction& action : decision.orders[i].actions)
            actions.push_back({labelOf(i), action});
    }
    return actions;
}

std::optional<ExitStatus> FleetCycles::failed() const {
    std::optional<ExitStatus> status;
    for (const auto& [host, failure] : undone_) {
        const ExitStatus its = hostFailed(hosts_[host], failure).status();
        if (its == ExitStatus::NotAuthorized)
            return its;
        status = status.value_or(its) == its ? its : ExitStatus::Failed;
    }
    return status;
}

} // namespace genv::ctl
