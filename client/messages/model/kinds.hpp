// SPDX-License-Identifier: LGPL-2.1-or-later
// The kinds of messages that a user can choose with Kinds= in notify.conf.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace genv::messages {

enum class Kind : std::uint8_t {
    JobEnded,
    JobFailed,
    Granted,
    Taken,
    Lease,
    Parked,
    Memory,
    Unhealthy,
    Test, ///< only of "genvctl notify test"; no configuration names it
};

using Kinds = std::set<Kind>;

/// Returns the word of a kind, as in notify.conf.
std::string_view nameOf(Kind kind);
/// The reverse; nothing for an unknown word.
std::optional<Kind> kindNamed(std::string_view word);
/// The kinds that a configuration may name, in the order of the documentation.
const Kinds& allKinds();
/// The kinds of a section without Kinds=.
const Kinds& defaultKinds();
/// Returns the words, separated by ", ".
std::string namesOf(const Kinds& kinds);

} // namespace genv::messages
