// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/environment/extension.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/options/waiting_options.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/text.hpp"

#include <fmt/format.h>

#include <string_view>

namespace genv::ctl {

namespace {

constexpr const char* lifetimeLimit = "MaxLifetime";
constexpr std::string_view jobPrefix = "slurm-"; // used in the ids of Slurm jobs only

// Without a time, extends the environment to the owner's limit, or removes its end.
ConfigurationChange wantedChange(Client& client, const std::string& id,
                                 const std::optional<std::string>& typed) {
    ConfigurationChange change;
    if (typed)
        change.setLifetime(readLifetime("TIME", *typed));
    const Environment environment = client.environment(id);
    // Slurm knows the end of a job even if its prolog did not report it.
    const bool isJob = id.starts_with(jobPrefix);
    if (!environment.expires && isJob && !typed)
        throw Failure(ExitStatus::Failed,
                      fmt::format("genv does not know when environment {} ends", id),
                      fmt::format("Say how long the job is to last from now: genvctl extend --id "
                                  "{} 2h",
                                  id));
    if (!environment.expires && !isJob)
        throw Failure(ExitStatus::Failed,
                      fmt::format("Environment {} has no lease; it was not changed", id),
                      "It ends only with its processes, so there is nothing to extend.");
    if (typed)
        return change;
    const auto limits = client.limits(environment.uid);
    const auto limit = limits.find(lifetimeLimit);
    std::optional<std::chrono::seconds> maxLifetime;
    if (limit != limits.end() && limit->second.allowed) {
        // Subtracts one second for the duration of the call.
        maxLifetime = std::chrono::floor<std::chrono::seconds>(
            environment.created + std::chrono::seconds(*limit->second.allowed - 1) - currentTime());
        if (maxLifetime->count() < 1)
            throw Failure(ExitStatus::Failed,
                          fmt::format("Environment {} may not last any longer (MaxLifetime)", id),
                          "\"genvctl limits\" shows your limits.");
    }
    return change.setLifetime(maxLifetime);
}

} // namespace

void extendEnvironment(Context& context, const std::string& id,
                       const std::optional<std::string>& lifetime) {
    const ConfigurationChange change = wantedChange(context.client(), id, lifetime);
    context.authorised([&](Client& client) { client.configure(id, change); });
    const auto expires = context.client().environment(id).expires;
    if (context.printJson({{"id", id}, {"expires", expires ? toJson(*expires) : Json(nullptr)}}))
        return;
    print(expires ? fmt::format("Environment {}: lease ends {} ({})\n", shown(id),
                                relativeFuture(*expires, currentTime()), timestamp(*expires))
                  : fmt::format("Environment {}: no lease, no end\n", shown(id)));
}

} // namespace genv::ctl
