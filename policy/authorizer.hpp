// SPDX-License-Identifier: LGPL-2.1-or-later
// The interface to authorization, implemented with polkit. The reply comes later, and may never
// come. The caller keeps the Check, and looks up the object to change again when the reply arrives.
#pragma once

#include "policy/question.hpp"

#include <functional>
#include <memory>
#include <string>

namespace genv::policy {

/// The reply. Every value except Authorized means no.
enum class Verdict {
    Authorized,
    Denied,
    InteractionRequired, ///< a password would help, but the call did not allow a prompt
    Unavailable,         ///< polkit is not running or failed
    TimedOut,            ///< no reply in time
};

/// A pending question. After it is destroyed, its callback is never called, and polkit ends the
/// question and closes the password prompt.
class Check {
  public:
    Check() = default;
    Check(const Check&) = delete;
    Check& operator=(const Check&) = delete;
    virtual ~Check() = default;

    /// Cancels the question, since its sender has left the bus. The callback is still called, with
    /// any verdict, once polkit no longer works on the question.
    virtual void abandon() = 0;
};

/// Asks for authorization. Used on the loop's thread only.
class Authorizer {
  public:
    using Answer = std::function<void(Verdict)>;

    virtual ~Authorizer() = default;

    /// Asks whether the sender with this unique bus name is authorized. With `interactive`, polkit
    /// may prompt for a password. `answer` is called at most once, and never before this returns.
    [[nodiscard]] virtual std::unique_ptr<Check>
    ask(const std::string& busName, const Question& question, bool interactive, Answer answer) = 0;
};

} // namespace genv::policy
