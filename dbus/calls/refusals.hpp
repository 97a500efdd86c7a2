// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: a listener for refused calls. Only handlers report refusals. The listener decides what to
// log, and how to limit a flood.
#pragma once

#include "core/base/error.hpp"
#include "core/model/reason.hpp"
#include "policy/question.hpp"

#include <optional>
#include <string>

namespace genv::dbus {

/// A refused call.
struct Refusal {
    const policy::MethodRow& method;
    std::string connection;            ///< unique name of the caller
    std::optional<core::Actor> caller; ///< unset: the bus was not asked, or did not reply
    core::ErrorCode code;
    const char* error = "";                ///< D-Bus name of the error
    std::string message;                   ///< text for the caller, with foreign text escaped
    policy::Target target;                 ///< target of the call, as far as it was known
    std::optional<policy::Action> missing; ///< the missing authorization
};

class Refusals {
  public:
    virtual ~Refusals() = default;

    /// Handles a refusal, before the caller receives it. Must not throw.
    virtual void refused(const Refusal& refusal) = 0;
    /// Handles a call in which polkit may prompt for a password. It may be a retry after a refusal
    /// for lack of one. Must not throw.
    virtual void mayAsk(const std::string& connection, const policy::MethodRow& method) = 0;
};

} // namespace genv::dbus
