// SPDX-License-Identifier: LGPL-2.1-or-later
// Turns a call into the question for polkit. The functions are pure: they take the caller and the
// target, and return one question or none.
#pragma once

#include "core/base/process.hpp"
#include "core/model/target.hpp"
#include "policy/actions.hpp"

#include <map>
#include <optional>
#include <string>

namespace genv::policy {

using core::DeviceHolder;
using core::HeldDevices;
using core::Target;

/// A question for polkit.
struct Question {
    Action action;
    std::map<std::string, std::string> details; ///< for the rules of an administrator
    std::string deed;                           ///< the action, as in "not authorized to <deed>"
    std::string remedy = {};                    ///< what else the caller can do; empty if nothing

    /// Returns the text of the password prompt.
    [[nodiscard]] std::string message() const { return "Authentication is required to " + deed; }

    friend bool operator==(const Question&, const Question&) = default;
};

/// Returns the question for a call by `caller`, or nothing if none is needed: for read-only calls,
/// for the caller's own history, and for root.
std::optional<Question> questionFor(const MethodRow& method, core::Uid caller,
                                    const Target& target);

/// Returns the second question, for a call that would exceed a limit; nothing for root.
std::optional<Question> quotaQuestionFor(const MethodRow& method, core::Uid caller,
                                         const Target& target);

} // namespace genv::policy
