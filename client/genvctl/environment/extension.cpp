// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/environment/extension.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/objects/machine_objects.hpp"
#include "client/genvctl/options/waiting_options.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/format.h>

#include <string_view>

namespace genv::ctl {

namespace {

constexpr std::string_view jobPrefix = "slurm-"; // used in the ids of Slurm jobs only

// Slurm knows the end of a job even if its prolog did not report it.
void requireLease(const Environment& environment) {
    if (!environment.expires && !environment.id.starts_with(jobPrefix))
        throw Failure(
            ExitStatus::Failed,
            fmt::format("Environment {} has no lease; it was not changed", shown(environment.id)),
            "It ends only with its processes, so there is nothing to extend.");
}

} // namespace

std::chrono::seconds requiredLifetime(const std::optional<std::string>& text) {
    if (!text)
        throw Failure(ExitStatus::Usage, "missing TIME",
                      "Give the time from now, such as 2h, or --no-end to remove the end.");
    return readLifetime("TIME", *text);
}

void extendEnvironment(Context& context, const std::string& id,
                       std::optional<std::chrono::seconds> lifetime) {
    requireLease(context.client().environment(id));
    ConfigurationChange change;
    change.setLifetime(lifetime);
    context.authorized([&](Client& client) { client.configure(id, change); });
    if (context.options.json != JsonMode::Off) {
        printJson(context.options, environmentObject(context.client(), id));
        return;
    }
    const auto expires = context.client().environment(id).expires;
    print(expires ? fmt::format("Environment {}: lease ends {} ({})\n", shown(id),
                                relativeFuture(*expires, currentTime()), core::nameTime(*expires))
                  : fmt::format("Environment {}: no lease, no end\n", shown(id)));
}

} // namespace genv::ctl
