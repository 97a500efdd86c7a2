// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/manager/enforcement.hpp"

#include "core/base/error.hpp"
#include "core/settings/caps.hpp"
#include "core/settings/limit_definitions.hpp"

#include <algorithm>
#include <utility>

namespace genv::dbus {

namespace {

void take(CallOptions& options, std::string_view name, std::optional<std::uint32_t>& limit) {
    limit = options.take<std::uint32_t>(std::string(name));
}

void take(CallOptions& options, std::string_view name, std::optional<core::Bytes>& limit) {
    limit = options.takeMemory(std::string(name));
}

void take(CallOptions& options, std::string_view name,
          std::optional<std::chrono::milliseconds>& limit) {
    limit = options.takeSeconds(std::string(name));
}

core::RuleSwitches takeSwitches(CallOptions& options) {
    core::RuleSwitches switches;
    for (const auto& [rule, toggle] : core::switchedRules()) {
        bool& isOn = switches.*toggle.member;
        isOn = options.take<bool>(std::string(rule.name)).value_or(isOn);
    }
    return switches;
}

core::LimitTable takeLimits(CallOptions& options) {
    core::LimitTable table;
    core::Limits& limits = table.general;
    for (const core::LimitDefinition& limit : core::limitDefinitions())
        std::visit([&](auto member) { take(options, limit.name, limits.*member); }, limit.member);
    using Users = std::map<std::string, std::uint32_t>;
    const auto users = options.take<Users>("max-devices-for-user").value_or(Users{});
    if (users.size() > core::caps::limitsPerEnforcement)
        core::fail(core::ErrorCode::InvalidArgs,
                   "option \"max-devices-for-user\" names {} users; it may name at most {}",
                   users.size(), core::caps::limitsPerEnforcement);
    for (const auto& [name, count] : users)
        table.users[name].maxDevices = count;
    return table;
}

Actions toBus(const std::vector<core::EnforcementEntry>& actions) {
    Actions result;
    result.reserve(actions.size());
    for (const core::EnforcementEntry& action : actions) {
        VariantMap details{{"message", sdbus::Variant{action.message}}};
        if (!action.rule.empty())
            details["rule"] = sdbus::Variant{action.rule};
        if (!action.user.empty())
            details["user"] = sdbus::Variant{action.user};
        if (action.pid)
            details["pid"] = sdbus::Variant{*action.pid};
        if (action.environment)
            details["environment"] = sdbus::Variant{*action.environment};
        if (!action.devices.empty())
            details["devices"] = sdbus::Variant{action.devices};
        result.emplace_back(std::string(core::nameOf(action.kind)), std::move(details));
    }
    return result;
}

Actions failed(const std::string& why) {
    core::EnforcementEntry action;
    action.kind = core::EnforcementEntry::Kind::Failed;
    action.message = "[ERROR] " + why;
    return toBus({action});
}

std::string driverSilence(const std::string& failure) {
    return fmt::format("the GPU driver does not answer: {}", failure);
}

} // namespace

Enforcement::Wanted Enforcement::read(VariantMap values, const core::Actor& caller) {
    CallOptions options(std::move(values));
    Wanted wanted;
    wanted.rules.switches = takeSwitches(options);
    wanted.limits = takeLimits(options);
    wanted.options.dryRun = options.takeFlag("dry-run");
    wanted.options.terminate = options.take<bool>("terminate").value_or(true);
    wanted.options.actor = caller;
    wanted.interval = options.takeSeconds("interval").value_or(std::chrono::seconds{0});
    options.finish();
    return wanted;
}

void Enforcement::enforce(const EnforcementReply& reply, VariantMap options) {
    const Wanted wanted = read(std::move(options), reply.caller().actor());
    policy::Target target;
    target.dryRun = wanted.options.dryRun;
    calls_.gate.pass(reply, target, [this, reply, wanted] { resolve(reply, wanted); });
}

// Limits that the options set for users need the uids of these users.
void Enforcement::resolve(const EnforcementReply& reply, Wanted wanted) {
    const core::Names names = wanted.limits.names();
    users_.resolve(
        reply.caller().uid, names,
        reply.later(
            [this, reply, wanted = std::move(wanted),
             place = calls_.listCalls.enter(reply.caller().uid),
             remembered = calls_.waitingCalls.remember(reply)](const core::ResolvedNames& found) {
                Wanted resolved = wanted;
                resolved.limits.ids = found;
                resolved.rules.limitsOf = [table = resolved.limits](const core::UserInfo& user) {
                    return table.enforcedOn(user);
                };
                begin(reply, resolved, place);
            }));
}

void Enforcement::begin(const EnforcementReply& reply, const Wanted& wanted,
                        const std::shared_ptr<void>& place) {
    const Ticket ticket = wanted.interval.count() > 0 ? remember(reply.caller(), wanted) : 0;
    const auto answer = [this, reply, ticket, place](const auto* actions,
                                                     const std::string& failure) {
        if (actions == nullptr) {
            repetitions_.erase(ticket);
            core::fail(core::ErrorCode::Timeout, "{}", driverSilence(failure));
        }
        reply.send(toBus(*actions));
        schedule(ticket);
    };
    try {
        enforcer_.run(wanted.rules, wanted.options, reply.later(answer));
    } catch (const core::Error&) {
        repetitions_.erase(ticket);
        throw;
    }
}

void Enforcement::execute(const EnforcementReply& reply, const std::string& report) {
    core::requireReportLength(report);
    // Parsing blocks the loop, so only authorized callers may cause it. The targets of the report
    // are then matched against a new sample.
    const auto place = reports_.enter(reply.caller().uid);
    calls_.gate.pass(reply, {}, [&enforcer = enforcer_, reply, report, place] {
        core::EnforcementOptions options;
        options.actor = reply.caller().actor();
        enforcer.execute(core::parseReport(report), options,
                         reply.later([reply](const std::vector<core::EnforcementEntry>* actions,
                                             const std::string& failure) {
                             if (actions == nullptr)
                                 core::fail(core::ErrorCode::Timeout, "{}", driverSilence(failure));
                             reply.send(toBus(*actions));
                         }));
    });
}

Enforcement::Ticket Enforcement::remember(const Caller& caller, const Wanted& wanted) {
    const auto count =
        std::count_if(repetitions_.begin(), repetitions_.end(),
                      [&](const auto& entry) { return entry.second.uid == caller.uid; });
    if (caller.uid != 0 &&
        static_cast<std::size_t>(count) >= core::caps::repeatedEnforcementsPerUser)
        core::fail(core::ErrorCode::LimitsExceeded,
                   "{} of your enforcements are repeated already; end one first", count);
    const Ticket ticket = ++lastTicket_;
    repetitions_.emplace(ticket, Repetition{caller.busName, caller.uid, wanted, nullptr});
    return ticket;
}

void Enforcement::schedule(Ticket ticket) {
    const auto found = repetitions_.find(ticket);
    if (found == repetitions_.end())
        return; // not repeated, or the caller has disconnected
    found->second.timer =
        runtime_.scheduler.after(found->second.wanted.interval, [this, ticket] { repeat(ticket); });
}

void Enforcement::repeat(Ticket ticket) {
    const Wanted wanted = repetitions_.at(ticket).wanted;
    try {
        enforcer_.run(wanted.rules, wanted.options,
                      [this, ticket](const auto* actions, const std::string& failure) {
                          emit(ticket, actions != nullptr ? toBus(*actions)
                                                          : failed(driverSilence(failure)));
                      });
    } catch (const core::Error& error) {
        emit(ticket, failed(error.what()));
    }
}

void Enforcement::emit(Ticket ticket, const Actions& actions) {
    const auto found = repetitions_.find(ticket);
    if (found == repetitions_.end())
        return; // the caller has disconnected
    try {
        sdbus::Signal signal = manager_.createSignal(compat::InterfaceName{"dev.genv.Manager"},
                                                     compat::MemberName{"Enforced"});
        signal.setDestination(found->second.busName);
        signal << actions;
        manager_.emitSignal(signal);
    } catch (const sdbus::Error& error) {
        runtime_.log.error("an enforcement could not be told on the bus: {}",
                           core::escaped(error.getName()));
    }
    schedule(ticket);
}

void Enforcement::onDisconnected(const std::string& busName) {
    std::erase_if(repetitions_, [&](const auto& entry) { return entry.second.busName == busName; });
}

} // namespace genv::dbus
