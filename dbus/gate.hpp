// SPDX-License-Identifier: LGPL-2.1-or-later
// The gate between a validated call and its change: every change that needs authorisation passes
// through it.
//
// A question belongs to its caller: it is cancelled when the caller disconnects, and the number of
// questions per user is limited. The continuation runs in the loop when the reply arrives, long
// after the handler returned, so it looks up its target again.
#pragma once

#include "core/error.hpp"
#include "dbus/reply.hpp"
#include "policy/authorizer.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

namespace genv::dbus {

class Gate {
  public:
    explicit Gate(policy::Authorizer& authorizer) : authorizer_(authorizer) {}

    /// Asks whether the caller is authorised for this target, then calls `proceed`: immediately if
    /// no question is needed, otherwise if the reply is yes. In all other cases the call is
    /// refused. Throws core::Error(LimitsExceeded) before asking.
    template <typename... Values, typename Proceed>
    void pass(const Reply<Values...>& reply, const policy::Target& target, Proceed proceed) {
        reply.about(target);
        const auto question = policy::questionFor(reply.call().method, reply.caller().uid, target);
        if (!question) {
            proceed();
            return;
        }
        announceQuestion(reply.call());
        ask(reply.caller(), *question,
            reply.later([reply, question = *question,
                         proceed = std::move(proceed)](policy::Verdict verdict) {
                if (verdict != policy::Verdict::Authorized)
                    reply.misses(question.action);
                requireAuthorized(verdict, question);
                proceed();
            }));
    }

    /// Asks the second question, for a request that would exceed a limit. If the reply is no, the
    /// error is core::Error(QuotaExceeded) with the sentence that describes the violation, unless a
    /// password would help.
    template <typename... Values, typename Proceed>
    void passQuota(const Reply<Values...>& reply, const policy::Target& target,
                   const std::string& violation, Proceed proceed) {
        reply.about(target);
        const auto question =
            policy::quotaQuestionFor(reply.call().method, reply.caller().uid, target);
        if (!question) {
            proceed();
            return;
        }
        announceQuestion(reply.call());
        ask(reply.caller(), *question,
            reply.later([reply, violation, action = question->action,
                         proceed = std::move(proceed)](policy::Verdict verdict) {
                if (verdict != policy::Verdict::Authorized)
                    reply.misses(action);
                requireWithinQuota(verdict, violation);
                proceed();
            }));
    }

    /// Forgets the questions and drops the calls of a closed connection.
    void onDisconnected(const std::string& busName);

    /// Returns the number of pending questions.
    [[nodiscard]] std::size_t pending() const { return pending_.size(); }

  private:
    struct Pending {
        std::string busName;
        core::Uid uid = 0;
        std::unique_ptr<policy::Check> check;
    };

    void ask(const Caller& caller, const policy::Question& question,
             policy::Authorizer::Answer answer);
    void finish(std::uint64_t ticket);
    static void announceQuestion(const Call& call);
    static void requireAuthorized(policy::Verdict verdict, const policy::Question& question);
    static void requireWithinQuota(policy::Verdict verdict, const std::string& violation);

    policy::Authorizer& authorizer_;
    std::map<std::uint64_t, Pending> pending_;
    std::unordered_map<core::Uid, std::size_t> counts_;
    std::uint64_t lastTicket_ = 0;
};

} // namespace genv::dbus
