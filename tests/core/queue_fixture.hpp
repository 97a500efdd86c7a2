// SPDX-License-Identifier: LGPL-2.1-or-later
// A ledger with a queue for its devices, and the replies to the waiting requests.
#pragma once

#include "core/queue/queue.hpp"
#include "core/use/use_recorder.hpp"
#include "tests/core/fake_use_store.hpp"
#include "tests/core/ledger_fixture.hpp"

#include <map>

namespace genv::tests {

class Queueing : public LedgerTest {
  protected:
    Queueing() {
        events.subscribe([this](const core::Event& event) {
            use.onEvent(event);
            history.onEvent(event);
            recorder.onEvent(event);
            queue.onEvent(event);
        });
        ledger.beforeDetach(
            [this](const core::EnvironmentRecord& before) { recorder.holdingEnds(before.uid); });
    }

    // Requests devices as a client does: free devices are granted at once.
    std::optional<core::Queue::Ticket> ask(const std::string& id,
                                           const core::AttachRequest& request,
                                           std::optional<std::chrono::milliseconds> timeout = {},
                                           const core::Terms& terms = {}) {
        const core::EnvironmentRecord& environment = ledger.get(id);
        const core::Plan plan = queue.placeOrWait(request, &environment, terms.lifetime);
        ledger.attach(id, plan, environment.uid, terms);
        if (std::holds_alternative<core::Placement>(plan))
            return std::nullopt;
        const auto ticket = ledger.get(id).waits.back().ticket;
        await(queue, id, ticket, timeout);
        return ticket;
    }
    std::optional<core::Queue::Ticket> askCount(const std::string& id, std::uint32_t count) {
        return ask(id, {core::CountWanted{count}, {}, {}, false});
    }
    void await(core::Queue& line, const std::string& id, core::Queue::Ticket ticket,
               std::optional<std::chrono::milliseconds> timeout = {}) {
        line.await(ticket, {ledger.get(id).uid, "user", {}}, timeout,
                   [this, id](const std::optional<core::Error>& refusal) {
                       answers[id].push_back(refusal ? std::optional(refusal->code())
                                                     : std::nullopt);
                       if (refusal)
                           reasons[id] = refusal->what();
                   });
    }

    // Attaches without waiting, as the service does for a caller that does not wait.
    core::ErrorCode attachNow(const std::string& id, const core::AttachRequest& request,
                              std::optional<std::chrono::seconds> lifetime = {}) {
        try {
            const core::Placement placement = queue.place(request, &ledger.get(id), lifetime);
            ledger.attach(id, placement, ledger.get(id).uid, {false, lifetime});
        } catch (const core::Error& error) {
            reasons[id] = error.what();
            return error.code();
        }
        return core::ErrorCode::Internal; // no error
    }

    [[nodiscard]] bool isGranted(const std::string& id) const {
        const auto found = answers.find(id);
        return found != answers.end() && found->second == Answers{std::nullopt};
    }
    [[nodiscard]] std::optional<core::ErrorCode> refusalOf(const std::string& id) const {
        const auto found = answers.find(id);
        return found == answers.end() || found->second.size() != 1 ? std::nullopt
                                                                   : found->second.front();
    }
    [[nodiscard]] std::vector<std::string> waiting() const {
        std::vector<std::string> ids;
        for (const auto& [ticket, id] : ledger.waits())
            ids.push_back(id);
        return ids;
    }
    void detach(const std::string& id) {
        ledger.detach(id, {}, ledger.get(id).uid);
        scheduler.turn();
    }

    core::Ordering ordering(const core::DecayedUse& used) {
        return {[this] { return orderRules; },
                [this](const core::UserInfo& user) {
                    ++weightLookups[user.uid];
                    const auto weight = weights.find(user.uid);
                    return weight == weights.end() ? core::defaultWeight : weight->second;
                },
                &used};
    }

    using Answers = std::vector<std::optional<core::ErrorCode>>;
    std::map<std::string, Answers> answers;
    std::map<std::string, std::string> reasons;
    FakeScheduler scheduler;
    SilentLog log;
    core::Limits limits;
    core::WaitingTimes times;
    core::OrderRules orderRules;
    std::map<core::Uid, std::uint32_t> weights; ///< of other users: the default
    std::map<core::Uid, int> weightLookups;
    FakeUseStore useStore;
    core::DecayedUse use{ledger, clock, std::chrono::hours{7 * 24}};
    core::StartHistory history{clock};
    core::UseRecorder recorder{use,
                               useStore,
                               clock,
                               scheduler,
                               [this] { return orderRules.order == core::QueueOrder::Fair; },
                               &history};
    core::Queue queue{ledger,
                      clock,
                      scheduler,
                      events,
                      log,
                      [this](const core::UserInfo&) { return limits; },
                      [this] { return times; },
                      ordering(use),
                      &history};
};

} // namespace genv::tests
