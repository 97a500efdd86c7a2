// SPDX-License-Identifier: LGPL-2.1-or-later
// The gate between a validated call and its change: every change that needs authorization passes
// through it.
//
// Nobody is refused for asking quickly. Questions wait here: users take turns, and only a few
// questions are at polkit at a time. A question is asked without a prompt first. Only if polkit
// then wants a person and the call allows it, it is asked again with a prompt. Prompts wait for
// people and not for polkit, so they take no turns, but their number per user is limited.
//
// A question belongs to its caller: it is canceled when the caller disconnects. The continuation
// runs in the loop when the reply arrives, long after the handler returned, so it looks up its
// target again.
#pragma once

#include "core/base/error.hpp"
#include "core/queue/turns.hpp"
#include "core/requests/approval.hpp"
#include "dbus/calls/reply.hpp"
#include "policy/authorizer.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>

namespace genv::dbus {

using core::Approval;

class Gate {
  public:
    explicit Gate(policy::Authorizer& authorizer) : authorizer_(authorizer) {}

    /// For callers that need to know what an authorization relies on.
    using Proceed = std::function<void(Approval)>;

    /// Asks whether the caller is authorized for this target, then calls `proceed`, which is a
    /// Proceed or a function without arguments: immediately if no question is needed, otherwise if
    /// the reply is yes. In all other cases the call is refused. Throws core::Error(LimitsExceeded)
    /// before asking.
    template <typename... Values, typename Next>
    void pass(const Reply<Values...>& reply, const policy::Target& target, Next proceed) {
        const auto question = policy::questionFor(reply.call().method, reply.caller().uid, target);
        pass(reply, target, question, std::move(proceed),
             [question](const Answer& answer) { requireAuthorized(answer, *question); });
    }

    /// Asks the second question, for a request that would exceed a limit. If the reply is no, the
    /// error is core::Error(QuotaExceeded) with the sentence that describes the violation, unless a
    /// password would help.
    template <typename... Values, typename Next>
    void passQuota(const Reply<Values...>& reply, const policy::Target& target,
                   const std::string& violation, Next proceed) {
        pass(reply, target,
             policy::quotaQuestionFor(reply.call().method, reply.caller().uid, target),
             std::move(proceed),
             [violation](const Answer& answer) { requireWithinQuota(answer, violation); });
    }

    /// The same for a request that has another way if the reply is no, `otherwise`: nobody is
    /// prompted, and a no is no refusal.
    template <typename... Values>
    void passQuotaUnprompted(const Reply<Values...>& reply, const policy::Target& target,
                             Proceed proceed, std::function<void()> otherwise) {
        const auto question =
            policy::quotaQuestionFor(reply.call().method, reply.caller().uid, target);
        if (!question) {
            proceed(Approval::Rules);
            return;
        }
        Caller unprompted = reply.caller();
        unprompted.interactive = false;
        ask(unprompted, *question,
            reply.later([proceed = std::move(proceed),
                         otherwise = std::move(otherwise)](const Answer& answer) {
                if (answer.verdict == policy::Verdict::Authorized)
                    proceed(answer.by);
                else
                    otherwise();
            }));
    }

    /// Forgets the questions and drops the calls of a closed connection.
    void onDisconnected(const std::string& busName);

    /// Returns the number of questions whose callers wait for the reply.
    [[nodiscard]] std::size_t pending() const;

  private:
    struct Answer {
        policy::Verdict verdict;
        Approval by = Approval::Rules;
        bool tooManyPrompts = false; ///< no prompt was opened, since too many are open
    };
    using Receive = std::function<void(const Answer&)>;
    using Ticket = std::uint64_t;

    enum class Stage { Waiting, Asked, Prompted };
    struct Pending {
        std::string busName;
        core::Uid uid = 0;
        bool mayPrompt = false;
        policy::Question question;
        Receive receive; ///< empty once the caller has disconnected
        Stage stage = Stage::Waiting;
        std::unique_ptr<policy::Check> check{};
    };
    /// The questions and open prompts of a user.
    struct Load {
        std::size_t questions = 0;
        std::size_t prompts = 0;
    };

    template <typename... Values, typename Next, typename Require>
    void pass(const Reply<Values...>& reply, const policy::Target& target,
              const std::optional<policy::Question>& question, Next proceed, Require require) {
        reply.about(target);
        const auto go = [proceed = std::move(proceed)](Approval by) {
            if constexpr (std::is_same_v<Next, Proceed>)
                proceed(by);
            else
                proceed();
        };
        if (!question) {
            go(Approval::Rules);
            return;
        }
        announceQuestion(reply.call());
        ask(reply.caller(), *question,
            reply.later([reply, action = question->action, go, require](const Answer& answer) {
                if (answer.verdict != policy::Verdict::Authorized)
                    reply.misses(action);
                require(answer);
                go(answer.by);
            }));
    }

    void ask(const Caller& caller, const policy::Question& question, Receive receive);
    void askNext();
    void send(Ticket ticket, Pending& pending, bool withPrompt);
    void onVerdict(Ticket ticket, policy::Verdict verdict);
    [[nodiscard]] bool wantsPrompt(const Pending& pending, policy::Verdict verdict) const;
    void finish(Ticket ticket, const Answer& answer);
    static void announceQuestion(const Call& call);
    static void requireAuthorized(const Answer& answer, const policy::Question& question);
    static void requireWithinQuota(const Answer& answer, const std::string& violation);

    policy::Authorizer& authorizer_;
    std::map<Ticket, Pending> pending_;
    core::Turns<Ticket> waiting_;
    std::size_t asked_ = 0; ///< questions at polkit, without prompts
    std::unordered_map<core::Uid, Load> loads_;
    Ticket lastTicket_ = 0;
};

} // namespace genv::dbus
