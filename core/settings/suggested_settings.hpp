// SPDX-License-Identifier: LGPL-2.1-or-later
// The settings that `genvctl policy suggest` derives from answers, and the commented file with
// them.
#pragma once

#include "core/settings/policy_answers.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace genv::core {

/// A setting as genvd.conf has it, with its reason.
struct SuggestedSetting {
    std::string_view section; ///< without brackets
    std::string_view key;
    std::string value;
    std::string undo;    ///< the value that undoes it: the default, which may be empty
    std::string comment; ///< what it does, and whom it affects
};

/// Returns the settings for these answers, section by section.
std::vector<SuggestedSetting> suggestedSettings(const PolicyAnswers& answers,
                                                const MachineFigures& figures);

/// Returns the commands that bring the settings into force.
std::string_view commandToApply(const PolicyAnswers& answers);

/// Returns these settings as the text of a drop-in file for genvd.conf.d.
std::string suggestedFile(const PolicyAnswers& answers, const MachineFigures& figures);

} // namespace genv::core
