// SPDX-License-Identifier: LGPL-2.1-or-later
// The call Attach: reads what is wanted, asks whether the caller may have it, and gives it, now or
// when its turn comes.
#pragma once

#include "dbus/context.hpp"
#include "dbus/options.hpp"

#include <cstdint>
#include <vector>

namespace genv::dbus {

using AttachReply = Reply<std::vector<std::uint32_t>>;

/// Carries out a call of Attach on an environment that exists. Throws core::Error for what is wrong
/// at once.
void attach(const Context& context, const AttachReply& reply, const core::Environment& environment,
            VariantMap options);

} // namespace genv::dbus
