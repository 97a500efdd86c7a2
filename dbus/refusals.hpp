// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: who hears of calls that were refused. Handlers tell here, and nowhere else; what is written
// about a refusal, and how much of a flood of them, is the listener's to decide.
#pragma once

#include "core/error.hpp"
#include "policy/question.hpp"

#include <optional>
#include <string>

namespace genv::dbus {

/// A refused call.
struct Refusal {
    const policy::MethodRow& method;
    std::string connection;          ///< the caller's unique name
    std::optional<core::Uid> caller; ///< unset: the bus was not asked, or did not say
    core::ErrorCode code;
    const char* error = "";                ///< the same as the bus names it
    std::string message;                   ///< what was said, foreign text in it escaped
    policy::Target target;                 ///< what the call is about, as far as that was known
    std::optional<policy::Action> missing; ///< the authorisation that was not given
};

class Refusals {
  public:
    virtual ~Refusals() = default;

    /// Hears of a refusal, before the caller does. Must not throw.
    virtual void refused(const Refusal& refusal) = 0;
    /// A connection makes a call in which polkit may ask somebody for a password, maybe again: it
    /// was refused for want of that before. Must not throw.
    virtual void mayAsk(const std::string& connection, const policy::MethodRow& method) = 0;
};

} // namespace genv::dbus
