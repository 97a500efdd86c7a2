// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/environment/requests.hpp"

#include "client/genvctl/common/stop_signals.hpp"
#include "client/genvctl/environment/turn.hpp"
#include "client/genvctl/terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace genv::ctl {

namespace {

constexpr const char* interruptedText = "Interrupted while waiting; nothing was attached";

std::string grantedText(const std::vector<std::uint32_t>& devices) {
    return fmt::format("GPU {} attached", joined(devices, ","));
}

// A grant may arrive after an interruption. Gives back devices that the process would hold
// unknowingly.
void giveBack(Client& client, std::uint32_t pid) {
    for (const EnvironmentEntry& environment : client.environments()) {
        if (std::find(environment.processes.begin(), environment.processes.end(), pid) ==
            environment.processes.end())
            continue;
        try {
            client.removeProcess(environment.id, pid);
        } catch (const ServiceUnavailable&) {
            throw;
        } catch (const Error&) {
            // The environment has already ended.
        }
    }
}

} // namespace

std::string requestEnvironment(Context& context, const ActivateOptions& options) {
    if (!options.waits())
        return context.authorised([&](Client& client) { return client.activate(options); });
    const auto isWaiting = [&](const EnvironmentEntry& entry) {
        const auto keeps = [](const auto& all, const auto& one) {
            return std::find(all.begin(), all.end(), one) != all.end();
        };
        if (const auto kernel = options.kernel())
            return keeps(context.client().environment(entry.id).kernels, *kernel);
        return keeps(entry.processes, options.pid().value_or(0));
    };
    try {
        return inTurn(
            context, queueText(context.client(), isWaiting), options.timeout(), interruptedText,
            [&](Client& client, const Waiting& waiting) {
                return client.activate(options, waiting);
            },
            [&](const std::string& id) {
                return grantedText(context.client().environment(id).devices);
            });
    } catch (const Interrupted&) {
        if (const auto pid = options.pid())
            giveBack(context.client(), *pid);
        throw;
    }
}

std::vector<std::uint32_t> requestDevices(Context& context, const std::string& environment,
                                          const AttachOptions& options) {
    if (!options.waits())
        return context.authorised(
            [&](Client& client) { return client.attach(environment, options); });
    const auto isWaiting = [&](const EnvironmentEntry& entry) { return entry.id == environment; };
    return inTurn(
        context, queueText(context.client(), isWaiting), options.timeout(), interruptedText,
        [&](Client& client, const Waiting& waiting) {
            return client.attach(environment, options, waiting);
        },
        grantedText);
}

} // namespace genv::ctl
