// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads what older services wrote: one step for each version of the state document, which makes it
// one of the next version. state_schema.cpp then decodes the newest version only.
//
// How the document is extended:
// * A key that a reader can do without keeps the version. state_schema.cpp reads it with one of its
//   ...IfAny() functions, and an older service that meets it ignores it.
// * Anything that an older service would misread takes a new version: raise stateVersion, add the
//   step from the version before to stateUpgrades, and never change a step again.
// * Either way a document of the new form goes to tests/core/state_documents, where those of every
//   form that was ever written are kept.
#pragma once

#include "core/state_schema.hpp"

#include <nlohmann/json_fwd.hpp>

#include <algorithm>
#include <array>
#include <span>

namespace genv::core {

/// Makes a document of one version one of the next, but for the number itself. What a document of
/// that version must have is not certain to be there; throws StateError where it cannot do without.
using StateUpgrade = void (*)(nlohmann::json& document);

/// The steps, from version 1 on. There is none yet, since there is one version.
inline constexpr std::array<StateUpgrade, stateVersion - 1> stateUpgrades{};

static_assert(std::ranges::none_of(stateUpgrades, [](StateUpgrade step) { return !step; }),
              "every version before stateVersion needs its step");

/// Takes a document through the steps from its version on. Throws StateError for what is not a
/// document, or is one of a version that never was or is newer than the last step's.
void upgradeDocument(nlohmann::json& document, std::span<const StateUpgrade> steps);

} // namespace genv::core
