// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/options/waiting_options.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/options/cluster_refusals.hpp"
#include "client/genvctl/options/configuration_options.hpp"
#include "client/genvctl/options/option_values.hpp"
#include "core/placement/fair_order.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace genv::ctl {

namespace {

// The value of --wait without a time.
constexpr const char* withoutLimit = "infinity";

template <typename Options>
void put(const WaitingOptions& from, Options& to) {
    if (!from.wait.empty()) {
        std::optional<std::chrono::seconds> timeout;
        if (from.wait != withoutLimit)
            timeout = readTime("--wait", from.wait);
        // A timeout of 0 means not to wait, which is the default.
        to.setWait(!timeout || timeout->count() > 0).setHoldForQuota(true).setTimeout(timeout);
    }
    if (from.priority && from.wait.empty())
        throw Failure(ExitStatus::Usage,
                      "--priority orders waiting requests: expected --wait, too");
    to.setPriority(from.priority);
    if (from.lifetime)
        to.setLifetime(readLifetime("--lifetime", *from.lifetime));
}

} // namespace

void WaitingOptions::addTo(CLI::App& command, const std::string& whatEnds) {
    addWaitTo(command);
    addLifetimeTo(command, whatEnds);
}

void WaitingOptions::addWaitTo(CLI::App& command) {
    addFlag(command, fmt::format("--wait{{{}}}", withoutLimit), wait,
            "Wait in the queue, for at most TIME, such as 30m",
            {.values = ValueKind::Free, .onCluster = cluster::mapped})
        ->type_name("TIME")
        ->group(leaseOptions);
    addOption(command, "--priority", priority,
              "Wait before your own requests below N, -100 to 100 [default: 0]",
              {.values = ValueKind::Free, .onCluster = slurmOrdersJobs})
        ->check(CLI::Range(-core::maxPriority, core::maxPriority).description(""))
        ->type_name("N")
        ->group(leaseOptions);
}

void WaitingOptions::addLifetimeTo(CLI::App& command, const std::string& whatEnds) {
    addOption(command, "--lifetime", lifetime, whatEnds + " after TIME, such as 2h",
              {.values = ValueKind::Free, .onCluster = cluster::mapped})
        ->type_name("TIME")
        ->group(leaseOptions);
}

void WaitingOptions::apply(ActivateOptions& options) const {
    put(*this, options);
}

void WaitingOptions::apply(AttachOptions& options) const {
    put(*this, options);
}

std::chrono::seconds readLifetime(const char* option, const std::string& text) {
    const auto lifetime = readTime(option, text);
    if (lifetime.count() == 0)
        throw Failure(ExitStatus::Usage,
                      fmt::format("invalid value for {}: expected at least one second", option));
    return lifetime;
}

} // namespace genv::ctl
