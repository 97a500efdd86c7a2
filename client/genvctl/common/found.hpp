// SPDX-License-Identifier: LGPL-2.1-or-later
// Handles lookups whose object may not exist.
#pragma once

#include "dbus/contract/names.hpp"
#include "genv/error.hpp"

#include <optional>

namespace genv::ctl {

/// Returns the result of a call, or nothing if the environment or process does not exist.
template <typename Call>
auto foundOrNothing(Call&& call) -> std::optional<decltype(call())> {
    try {
        return call();
    } catch (const Error& error) {
        if (error.name() != dbus::contract::error::noSuchEnvironment &&
            error.name() != dbus::contract::error::noSuchProcess)
            throw;
        return std::nullopt;
    }
}

} // namespace genv::ctl
