// SPDX-License-Identifier: LGPL-2.1-or-later
// Asks the questions of `policy suggest`, as plain text.
#pragma once

#include "core/settings/policy_answers.hpp"

#include <functional>
#include <istream>
#include <string_view>

namespace genv::ctl {

/// Asks each question until a choice is named by its number or taken by an empty line. `write`
/// shows text to the person. Throws Failure if the input ends before the last answer.
core::PolicyAnswers interview(std::istream& input,
                              const std::function<void(std::string_view text)>& write,
                              const core::MachineFigures& figures);

} // namespace genv::ctl
