// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/gate.hpp"

#include "core/caps.hpp"

#include <utility>
#include <vector>

namespace genv::dbus {

void Gate::ask(const Caller& caller, const policy::Question& question,
               policy::Authorizer::Answer answer) {
    const auto count = counts_.find(caller.uid);
    if (count != counts_.end() && count->second >= core::caps::pendingChecksPerUser)
        core::fail(core::ErrorCode::LimitsExceeded,
                   "{} of your calls wait for authorisation already; wait until one is answered",
                   count->second);
    const std::uint64_t ticket = ++lastTicket_;
    auto check =
        authorizer_.ask(caller.busName, question, caller.interactive,
                        [this, ticket, answer = std::move(answer)](policy::Verdict verdict) {
                            finish(ticket);
                            answer(verdict);
                        });
    pending_.emplace(ticket, Pending{caller.busName, caller.uid, std::move(check)});
    ++counts_[caller.uid];
}

void Gate::announceQuestion(const Call& call) {
    if (call.caller.interactive)
        call.refusals.mayAsk(call.caller.busName, call.method);
}

void Gate::finish(std::uint64_t ticket) {
    const auto node = pending_.extract(ticket);
    const auto count = counts_.find(node.mapped().uid);
    if (--count->second == 0)
        counts_.erase(count);
}

void Gate::onDisconnected(const std::string& busName) {
    std::vector<std::uint64_t> tickets;
    for (const auto& [ticket, pending] : pending_) {
        if (pending.busName == busName)
            tickets.push_back(ticket);
    }
    for (const std::uint64_t ticket : tickets)
        finish(ticket);
}

void Gate::requireAuthorized(policy::Verdict verdict, const policy::Question& question) {
    const std::string_view id = policy::idOf(question.action);
    switch (verdict) {
    case policy::Verdict::Authorized:
        return;
    case policy::Verdict::InteractionRequired:
        core::fail(core::ErrorCode::InteractiveAuthorizationRequired,
                   "an administrator's password is needed to {} ({})", question.deed, id);
    case policy::Verdict::Unavailable:
        core::fail(core::ErrorCode::AccessDenied,
                   "not authorised to {} ({}): polkit does not answer", question.deed, id);
    case policy::Verdict::TimedOut:
        core::fail(core::ErrorCode::AccessDenied, "not authorised in time to {} ({})",
                   question.deed, id);
    case policy::Verdict::Denied:
        break;
    }
    core::fail(core::ErrorCode::AccessDenied, "not authorised to {} ({})", question.deed, id);
}

void Gate::requireWithinQuota(policy::Verdict verdict, const std::string& violation) {
    if (verdict == policy::Verdict::Authorized)
        return;
    if (verdict == policy::Verdict::InteractionRequired)
        core::fail(core::ErrorCode::InteractiveAuthorizationRequired,
                   "{}; an administrator's password would allow it ({})", violation,
                   policy::idOf(policy::Action::ExceedLimits));
    core::fail(core::ErrorCode::QuotaExceeded, "{}", violation);
}

} // namespace genv::dbus
