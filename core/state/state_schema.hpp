// SPDX-License-Identifier: LGPL-2.1-or-later
// The state document: one environment as JSON, with the version of the schema. A document may come
// from an older service, be truncated by a crash, or be forged. Only the first kind is accepted;
// all others are refused as a whole.
#pragma once

#include "core/model/environment.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

namespace genv::core {

/// The version that encodeState() writes. Older versions are upgraded (state_upgrades.hpp); newer
/// ones are refused.
inline constexpr int stateVersion = 1;

/// Why a document is invalid.
class StateError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Encodes an environment as a document.
std::string encodeState(const EnvironmentRecord& environment);

/// Decodes a document; its processes are not pinned yet. Throws StateError, whose text quotes the
/// document only escaped.
EnvironmentRecord decodeState(std::string_view document);

} // namespace genv::core
