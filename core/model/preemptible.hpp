// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether the devices of an environment are on loan: others' requests that find too few free
// devices may take them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace genv::core {

enum class Preemptible {
    No,
    Park, ///< it is parked for others; where it cannot be parked, it is left alone
    End,  ///< where it cannot be parked, it ends after a warning
};

/// Formats a kind as the bus and the state document do: "no", "park", "end".
std::string toString(Preemptible preemptible);

/// Returns the kind with this name, or nothing.
std::optional<Preemptible> parsePreemptible(std::string_view name);

} // namespace genv::core
