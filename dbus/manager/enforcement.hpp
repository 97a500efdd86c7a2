// SPDX-License-Identifier: LGPL-2.1-or-later
// Enforce and Execute: read the request, ask once whether the caller is authorized, and call the
// core. An enforcement with an interval is repeated as long as its caller stays connected.
#pragma once

#include "core/settings/caps.hpp"
#include "dbus/calls/bus_context.hpp"
#include "dbus/calls/call_options.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace genv::dbus {

using Actions = std::vector<sdbus::Struct<std::string, VariantMap>>;
using EnforcementReply = Reply<Actions>;

class Enforcement {
  public:
    /// `manager` sends the signals. All referenced objects must outlive this one, which must
    /// outlive the last iteration of the loop.
    Enforcement(core::Enforcer& enforcer, core::Users& users, const Calls& calls,
                const Runtime& runtime, sdbus::IObject& manager)
        : enforcer_(enforcer), users_(users), calls_(calls), runtime_(runtime), manager_(manager) {}

    /// Carries out a call of Enforce. Throws core::Error for errors that are detected immediately.
    void enforce(const EnforcementReply& reply, VariantMap options);
    /// Carries out a call of Execute. Throws core::Error for errors that are detected immediately.
    void execute(const EnforcementReply& reply, const std::string& report);
    /// Ends the repetitions of a closed connection.
    void onDisconnected(const std::string& busName);

  private:
    struct Wanted {
        core::RuleSet rules;
        core::LimitTable limits; ///< those of `rules`
        core::EnforcementOptions options;
        std::chrono::milliseconds interval{0}; ///< zero: run only once
    };
    struct Repetition {
        std::string busName;
        core::Uid uid = 0;
        Wanted wanted;
        std::unique_ptr<core::Scheduled> timer;
    };
    using Ticket = std::uint64_t;

    static Wanted read(VariantMap values, const core::Actor& caller);
    void resolve(const EnforcementReply& reply, Wanted wanted);
    void begin(const EnforcementReply& reply, const Wanted& wanted,
               const std::shared_ptr<void>& place);
    Ticket remember(const Caller& caller, const Wanted& wanted);
    void schedule(Ticket ticket);
    void repeat(Ticket ticket);
    void emit(Ticket ticket, const Actions& actions);

    core::Enforcer& enforcer_;
    core::Users& users_;
    const Calls& calls_;
    const Runtime& runtime_;
    sdbus::IObject& manager_;
    std::map<Ticket, Repetition> repetitions_;
    CallPlaces reports_{core::caps::reportsPerUser, "wait to carry out a report"};
    Ticket lastTicket_ = 0;
};

} // namespace genv::dbus
