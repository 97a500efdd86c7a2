// SPDX-License-Identifier: LGPL-2.1-or-later
// policy suggest: settings for this machine, from the answers to a few questions.
#pragma once

#include "core/settings/policy_answers.hpp"

#include <filesystem>
#include <optional>

namespace genv::ctl {

class Context;

struct SuggestArguments {
    std::optional<core::MachineUse> use;         ///< unset: ask
    std::optional<std::filesystem::path> output; ///< unset: standard output
    bool force = false;                          ///< replace the file
};

/// Throws Failure.
void suggestPolicy(Context& context, const SuggestArguments& arguments);

} // namespace genv::ctl
