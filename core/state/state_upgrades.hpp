// SPDX-License-Identifier: LGPL-2.1-or-later
// Upgrades documents of older services: one step for each version of the state document, which
// converts it to the next version. state_schema.cpp then decodes only the newest version.
//
// How to extend the document:
// * A key that readers can ignore does not change the version. Read it in state_schema.cpp only
//   if the document has it. An older service ignores the key.
// * Anything that an older service would misread needs a new version. Raise stateVersion, add the
//   step from the previous version to stateUpgrades, and never change a step later.
// * In both cases add a document of the new form to tests/core/state_documents, which keeps
//   documents of every form that was ever written.
#pragma once

#include "core/state/state_schema.hpp"

#include <nlohmann/json_fwd.hpp>

#include <algorithm>
#include <array>
#include <span>

namespace genv::core {

/// Converts a document of one version to the next, except for the version number. The document is
/// not validated, so required parts may be missing; throws StateError if the step cannot do without
/// them.
using StateUpgrade = void (*)(nlohmann::json& document);

/// The steps, from version 1 on. There are none yet, since there is one version.
inline constexpr std::array<StateUpgrade, stateVersion - 1> stateUpgrades{};

static_assert(std::ranges::none_of(stateUpgrades, [](StateUpgrade step) { return !step; }),
              "every version before stateVersion needs its step");

/// Applies the steps to a document from its version on. Throws StateError for input that is not a
/// document, or whose version never existed or is newer than the last step.
void upgradeDocument(nlohmann::json& document, std::span<const StateUpgrade> steps);

} // namespace genv::core
