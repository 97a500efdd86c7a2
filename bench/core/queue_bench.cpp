// SPDX-License-Identifier: LGPL-2.1-or-later
// Measures a request while others wait, and the description of the queue, by arrival and in fair
// order, with 1000 users whose use is known.
#include "bench/core/machine.hpp"
#include "bench/core/no_log.hpp"
#include "core/queue/queue.hpp"
#include "core/use/decayed_use.hpp"

namespace genv::bench {

namespace {

class NoScheduler : public core::Scheduler {
  public:
    void soon(std::function<void()> /*function*/) override {}
    std::unique_ptr<core::Scheduled> after(std::chrono::milliseconds /*delay*/,
                                           std::function<void()> /*function*/) override {
        return std::make_unique<core::Scheduled>();
    }
};

constexpr core::Uid users = 1000;

/// Eight devices, all held, and requests of as many users that wait for one each.
struct WaitingMachine {
    explicit WaitingMachine(core::Pid waits) : machine({8, 8}) {
        core::UseRecord record{"boot", {}, {}, {}};
        for (core::Uid uid = 0; uid < users; ++uid)
            record.rows.push_back({uid + Machine::firstUser, 1000.0 + uid * 37 % users, {}});
        use.restore(record, "boot");
        const core::AttachRequest request{core::CountWanted{1}, {}, {}, false};
        for (core::Pid i = 0; i < waits; ++i) {
            const core::Pid pid = 500'000 + i;
            core::NewEnvironment environment{std::to_string(pid),
                                             Machine::firstUser +
                                                 static_cast<core::Uid>(i) * 15 % users,
                                             "user",
                                             {},
                                             {{{pid, 1}, nullptr}},
                                             {},
                                             false};
            machine.ledger.activate(std::move(environment),
                                    queue.placeOrWait(request, core::Requester(core::Uid{1})), 0);
        }
    }

    Machine machine;
    NoScheduler scheduler;
    NoLog log;
    core::DecayedUse use{machine.ledger, machine.clock, std::chrono::hours{7 * 24}};
    core::OrderRules rules;
    core::Queue queue{machine.ledger,
                      machine.clock,
                      scheduler,
                      machine.events,
                      log,
                      [](const core::UserInfo&) { return core::Limits{}; },
                      [] { return core::WaitingTimes{}; },
                      {[this] { return rules; },
                       [](const core::UserInfo&) { return core::defaultWeight; }, &use}};
};

void measureRequest(benchmark::State& state, core::QueueOrder order) {
    WaitingMachine waiting(64);
    waiting.rules.order = order;
    const core::AttachRequest request{core::CountWanted{1}, {}, {}, false};
    for ([[maybe_unused]] auto _ : state) {
        const core::Plan plan = waiting.queue.placeOrWait(request, core::Requester(core::Uid{1}));
        benchmark::DoNotOptimize(&plan);
    }
}

void measureDescription(benchmark::State& state, core::QueueOrder order) {
    WaitingMachine waiting(static_cast<core::Pid>(state.range(0)));
    waiting.rules.order = order;
    for ([[maybe_unused]] auto _ : state) {
        const auto states = waiting.queue.states();
        benchmark::DoNotOptimize(&states);
    }
}

} // namespace

void addQueueBenchmarks() {
    for (const core::QueueOrder order : {core::QueueOrder::Fifo, core::QueueOrder::Fair}) {
        const std::string name = "request behind 64 waits, " + core::toString(order);
        benchmark::RegisterBenchmark(
            name.c_str(), [order](benchmark::State& state) { measureRequest(state, order); })
            ->ArgNames({"users"})
            ->Args({1000});
        const std::string described = "queue described, " + core::toString(order);
        benchmark::RegisterBenchmark(
            described.c_str(),
            [order](benchmark::State& state) { measureDescription(state, order); })
            ->ArgNames({"waits"})
            ->Args({64})
            ->Args({256});
    }
}

} // namespace genv::bench
