// SPDX-License-Identifier: LGPL-2.1-or-later
// Looking for what may not be there.
#pragma once

#include "dbus/contract/names.hpp"
#include "genv/error.hpp"

#include <optional>

namespace genv::ctl {

/// The result of a call, or nothing where there is no such environment or process.
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
