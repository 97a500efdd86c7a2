// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/program_environment.hpp"

#include "client/environment_job.hpp"

#include <cstdint>

namespace genv::shims {

Whereabouts readWhereabouts() {
    return {client::namedEnvironment(), client::jobOfThisProcess()};
}

std::optional<client::NamedEnvironment> ownEnvironment(Client& client, const Whereabouts& where) {
    constexpr std::uint32_t caller = 0;
    if (!where.job)
        return where.named;
    try {
        return client::NamedEnvironment{client.environmentOfProcess(caller), {}};
    } catch (const Error& error) {
        if (error.name() != dbus::contract::error::noSuchEnvironment)
            throw;
    }
    return where.named;
}

} // namespace genv::shims
