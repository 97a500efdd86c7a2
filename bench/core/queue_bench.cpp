// SPDX-License-Identifier: LGPL-2.1-or-later
// Measures a request while 64 others wait, by arrival and in fair order, with 1000 users whose use
// is known.
#include "bench/core/machine.hpp"
#include "bench/core/no_log.hpp"
#include "core/queue.hpp"
#include "core/user_use.hpp"

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

/// Eight devices, all held, and 64 requests of 64 users that wait for one each.
struct WaitingMachine {
    WaitingMachine() : machine({8, 8}) {
        constexpr core::Uid users = 1000;
        core::UseRecord record{"boot", {}, {}, {}};
        for (core::Uid uid = 0; uid < users; ++uid)
            record.rows.push_back({uid + Machine::firstUser, 1000.0 + uid * 37 % users, {}});
        use.restore(record, "boot");
        const core::AttachRequest request{core::CountWanted{1}, {}, {}, false};
        for (core::Pid i = 0; i < 64; ++i) {
            const core::Pid pid = 500'000 + i;
            core::NewEnvironment environment{std::to_string(pid),
                                             Machine::firstUser + i * 15,
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
    core::UserUse use{machine.ledger, machine.clock, std::chrono::hours{7 * 24}};
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
    WaitingMachine waiting;
    waiting.rules.order = order;
    const core::AttachRequest request{core::CountWanted{1}, {}, {}, false};
    for ([[maybe_unused]] auto _ : state) {
        const core::Plan plan = waiting.queue.placeOrWait(request, core::Requester(core::Uid{1}));
        benchmark::DoNotOptimize(&plan);
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
    }
}

} // namespace genv::bench
