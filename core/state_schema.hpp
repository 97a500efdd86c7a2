// SPDX-License-Identifier: LGPL-2.1-or-later
// The state document: one environment as JSON, with the version of the schema. A reader meets
// documents that an older service wrote, that a crash cut, or that somebody forged, and refuses all
// but the first whole.
#pragma once

#include "core/environment.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

namespace genv::core {

/// The version that encodeState() writes. Older ones are read (state_upgrades.hpp); newer ones are
/// refused.
inline constexpr int stateVersion = 1;

/// Why a document is not one.
class StateError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Writes an environment's document.
std::string encodeState(const Environment& environment);

/// Reads a document; the processes in it are not pinned yet. Throws StateError, whose text quotes
/// nothing of the document unescaped.
Environment decodeState(std::string_view document);

} // namespace genv::core
