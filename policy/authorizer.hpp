// SPDX-License-Identifier: LGPL-2.1-or-later
// Who may do it: the interface behind which polkit answers. The answer comes later, and may never
// come: whoever asks keeps the Check, and what is to be changed is looked up again when the answer
// is there.
#pragma once

#include "policy/question.hpp"

#include <functional>
#include <memory>
#include <string>

namespace genv::policy {

/// The answer. Everything but Authorized is a no.
enum class Verdict {
    Authorized,
    Denied,
    InteractionRequired, ///< a password would help, and the call did not allow asking for one
    Unavailable,         ///< polkit is not there or failed
    TimedOut,            ///< nobody answered in time
};

/// A question that is being asked; destroying it cancels, and the answer is then never told.
class Check {
  public:
    Check() = default;
    Check(const Check&) = delete;
    Check& operator=(const Check&) = delete;
    virtual ~Check() = default;
};

/// Asks. Used on the loop's thread only.
class Authorizer {
  public:
    using Answer = std::function<void(Verdict)>;

    virtual ~Authorizer() = default;

    /// Asks whether the sender of this unique bus name may do something. With `interactive` the
    /// person may be asked for a password. The answer comes once, and never before this returns.
    [[nodiscard]] virtual std::unique_ptr<Check>
    ask(const std::string& busName, const Question& question, bool interactive, Answer answer) = 0;
};

} // namespace genv::policy
