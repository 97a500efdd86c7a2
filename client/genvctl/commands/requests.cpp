// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/commands/requests.hpp"

#include "client/genvctl/text.hpp"
#include "client/genvctl/turn.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace genv::ctl {

namespace {

constexpr const char* leftTheQueue = "Interrupted while waiting; nothing was attached";

std::string grantedText(const std::vector<std::uint32_t>& devices) {
    return fmt::format("GPU {} attached", joined(devices, ","));
}

} // namespace

std::string requestEnvironment(Context& context, const ActivateOptions& options) {
    if (!options.wait)
        return context.authorised([&](Client& client) { return client.activate(options); });
    const auto isWaiting = [pid = options.pid.value_or(0)](const EnvironmentEntry& environment) {
        return std::find(environment.processes.begin(), environment.processes.end(), pid) !=
               environment.processes.end();
    };
    return inTurn(
        context, queueText(context.client(), isWaiting), options.timeout, leftTheQueue,
        [&](Client& client, const Waiting& waiting) { return client.activate(options, waiting); },
        [&](const std::string& id) { return grantedText(context.client().environment(id).devices); });
}

std::vector<std::uint32_t> requestDevices(Context& context, const std::string& environment,
                                          const AttachOptions& options) {
    if (!options.wait)
        return context.authorised(
            [&](Client& client) { return client.attach(environment, options); });
    const auto isWaiting = [&](const EnvironmentEntry& entry) { return entry.id == environment; };
    return inTurn(
        context, queueText(context.client(), isWaiting), options.timeout, leftTheQueue,
        [&](Client& client, const Waiting& waiting) {
            return client.attach(environment, options, waiting);
        },
        grantedText);
}

} // namespace genv::ctl
