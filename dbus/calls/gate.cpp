// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/calls/gate.hpp"

#include "core/settings/caps.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace genv::dbus {

namespace {

void requireRoomForPrompt(bool tooManyPrompts) {
    if (tooManyPrompts)
        core::fail(core::ErrorCode::LimitsExceeded,
                   "{} of your calls wait at a password prompt already; answer one first",
                   core::caps::promptsPerUser);
}

} // namespace

void Gate::ask(const Caller& caller, const policy::Question& question, Receive receive) {
    Load& load = loads_[caller.uid];
    if (load.questions >= core::caps::questionsPerUser)
        core::fail(core::ErrorCode::LimitsExceeded,
                   "{} of your calls wait for authorization already; wait until one is answered",
                   load.questions);
    ++load.questions;
    const Ticket ticket = ++lastTicket_;
    pending_.emplace(ticket, Pending{caller.busName, caller.uid, caller.interactive, question,
                                     std::move(receive)});
    waiting_.add(caller.uid, ticket);
    askNext();
}

void Gate::askNext() {
    while (asked_ < core::caps::questionsAtPolkit) {
        const auto ticket =
            waiting_.take([this](Ticket waiting) { return pending_.contains(waiting); });
        if (!ticket)
            return;
        ++asked_;
        send(*ticket, pending_.at(*ticket), false);
    }
}

void Gate::send(Ticket ticket, Pending& pending, bool withPrompt) {
    pending.stage = withPrompt ? Stage::Prompted : Stage::Asked;
    pending.check =
        authorizer_.ask(pending.busName, pending.question, withPrompt,
                        [this, ticket](policy::Verdict verdict) { onVerdict(ticket, verdict); });
}

void Gate::onVerdict(Ticket ticket, policy::Verdict verdict) {
    Pending& pending = pending_.at(ticket);
    const Approval by = pending.stage == Stage::Prompted ? Approval::Person : Approval::Rules;
    Load& load = loads_.at(pending.uid);
    if (pending.stage == Stage::Asked)
        --asked_;
    else
        --load.prompts;
    if (!wantsPrompt(pending, verdict)) {
        finish(ticket, {verdict, by});
    } else if (load.prompts >= core::caps::promptsPerUser) {
        finish(ticket, {verdict, by, true});
    } else {
        ++load.prompts;
        send(ticket, pending, true);
    }
    askNext();
}

bool Gate::wantsPrompt(const Pending& pending, policy::Verdict verdict) const {
    return verdict == policy::Verdict::InteractionRequired && pending.stage == Stage::Asked &&
           pending.mayPrompt && pending.receive;
}

void Gate::finish(Ticket ticket, const Answer& answer) {
    const auto node = pending_.extract(ticket);
    const auto load = loads_.find(node.mapped().uid);
    if (--load->second.questions == 0)
        loads_.erase(load);
    if (node.mapped().receive)
        node.mapped().receive(answer);
}

void Gate::announceQuestion(const Call& call) {
    if (call.caller.interactive)
        call.refusals.mayAsk(call.caller.busName, call.method);
}

std::size_t Gate::pending() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        pending_, [](const auto& entry) { return entry.second.receive != nullptr; }));
}

// A question that is at polkit keeps its place until polkit has answered it or it is canceled, so
// that connections which only ask and leave cannot fill polkit.
void Gate::onDisconnected(const std::string& busName) {
    std::vector<Ticket> tickets;
    for (const auto& [ticket, pending] : pending_) {
        if (pending.busName == busName)
            tickets.push_back(ticket);
    }
    for (const Ticket ticket : tickets) {
        Pending& pending = pending_.at(ticket);
        pending.receive = nullptr;
        if (pending.stage == Stage::Waiting)
            finish(ticket, {policy::Verdict::Denied});
        else
            pending.check->abandon();
    }
}

void Gate::requireAuthorized(const Answer& answer, const policy::Question& question) {
    requireRoomForPrompt(answer.tooManyPrompts);
    const std::string_view id = policy::idOf(question.action);
    const std::string remedy = question.remedy.empty() ? "" : "; " + question.remedy;
    switch (answer.verdict) {
    case policy::Verdict::Authorized:
        return;
    case policy::Verdict::InteractionRequired:
        core::fail(core::ErrorCode::InteractiveAuthorizationRequired,
                   "an administrator's password is needed to {} ({}){}", question.deed, id, remedy);
    case policy::Verdict::Unavailable:
        core::fail(core::ErrorCode::AccessDenied,
                   "not authorized to {} ({}): polkit does not answer", question.deed, id);
    case policy::Verdict::TimedOut:
        core::fail(core::ErrorCode::AccessDenied, "not authorized in time to {} ({})",
                   question.deed, id);
    case policy::Verdict::Denied:
        break;
    }
    core::fail(core::ErrorCode::AccessDenied, "not authorized to {} ({}){}", question.deed, id,
               remedy);
}

void Gate::requireWithinQuota(const Answer& answer, const std::string& violation) {
    requireRoomForPrompt(answer.tooManyPrompts);
    if (answer.verdict == policy::Verdict::Authorized)
        return;
    if (answer.verdict == policy::Verdict::InteractionRequired)
        core::fail(core::ErrorCode::InteractiveAuthorizationRequired,
                   "{}; an administrator's password would allow it ({})", violation,
                   policy::idOf(policy::Action::ExceedLimits));
    core::fail(core::ErrorCode::QuotaExceeded, "{}", violation);
}

} // namespace genv::dbus
