// SPDX-License-Identifier: LGPL-2.1-or-later
// Holders and waiting requests with and without leases come and go at random. The first request in
// the queue never starts later than forecast, every request is served in the end, and no device is
// idle for longer than KeepFor while a request waits whose lease would end in time.
#include "core/base/error.hpp"
#include "core/environments/leases.hpp"
#include "core/queue/forecast.hpp"
#include "tests/core/queue_fixture.hpp"
#include "tests/core/seeds.hpp"

#include <random>

namespace genv::tests {
namespace {

using std::chrono::minutes;

class RandomLeases : public Queueing, public ::testing::WithParamInterface<unsigned> {
  protected:
    static constexpr std::uint32_t deviceCount = 4;
    static constexpr unsigned people = 12;
    static constexpr minutes maxDuration{180};

    RandomLeases() {
        haveGpus(deviceCount);
        events.subscribe([this](const core::Event& event) { leases.onEvent(event); });
        events.subscribe([this](const core::Event& event) {
            if (const auto* granted = std::get_if<core::WaitGranted>(&event))
                granted_.push_back(*granted);
        });
    }

    unsigned below(unsigned limit) {
        return std::uniform_int_distribution<unsigned>(0, limit - 1)(random);
    }
    core::AttachRequest anyRequest() {
        const std::optional<core::Bytes> share =
            below(4) == 0 ? std::optional(gigabytes(1 + below(16))) : std::nullopt;
        if (below(4) == 0)
            return {core::IndicesWanted{{below(deviceCount)}}, {}, share, false};
        return {core::CountWanted{1 + below(deviceCount)}, {}, share, false};
    }
    // Activates a new environment that requests devices and usually waits for them.
    void come(bool mayStayForEver) {
        const std::string id = std::to_string(next_++);
        activate(id, alice + below(3));
        const std::optional<std::chrono::seconds> lifetime =
            mayStayForEver && below(3) == 0
                ? std::nullopt
                : std::optional<std::chrono::seconds>(minutes{1 + below(maxDuration.count())});
        const auto request = anyRequest();
        if (below(4) == 0) {
            attachNow(id, request, lifetime);
            return;
        }
        const std::size_t ahead = ledger.waits().size();
        if (ask(id, request, {}, {false, lifetime}))
            asked_[id] = {clock.bootNow(), ahead};
        scheduler.turn();
    }
    void leave() {
        std::vector<std::string> ids;
        for (const auto& [sequence, environment] : ledger.environments())
            ids.push_back(environment.id);
        if (!ids.empty())
            processes.exit(
                static_cast<core::Pid>(std::stoul(ids[below(static_cast<unsigned>(ids.size()))])));
        scheduler.turn();
    }
    // Ends environments that have no device and no waiting request.
    void tidy() {
        std::vector<std::string> idle;
        for (const auto& [sequence, environment] : ledger.environments()) {
            if (environment.attachments.empty() && environment.waits.empty())
                idle.push_back(environment.id);
        }
        for (const std::string& id : idle)
            processes.exit(static_cast<core::Pid>(std::stoul(id)));
        scheduler.turn();
    }
    void pass(std::chrono::microseconds time) {
        clock.pass(time);
        leases.check();
        scheduler.turn();
        tidy();
    }

    // Computes the start that the first request in the queue can rely on, independently of the
    // queue.
    core::Forecast::Start startOfFirst() {
        const auto& [ticket, id] = *ledger.waits().begin();
        const core::EnvironmentRecord& environment = ledger.get(id);
        const core::Wait& wait = ledger.wait(ticket);
        const core::Forecast forecast(
            ledger.devices(),
            [this](const core::Holder& holder) {
                return ledger.get(holder.environment).endOf(holder.attachment);
            },
            clock.bootNow(), times.keepFor);
        return forecast.earliest(wait.request, environment, wait.lifetime);
    }
    void expectTheFirstStartsNoLater() {
        if (ledger.waits().empty()) {
            first_.reset();
            return;
        }
        const std::uint64_t ticket = ledger.waits().begin()->first;
        const auto start = startOfFirst();
        if (first_ && first_->first == ticket) {
            EXPECT_FALSE(start.isGuess) << "its start was known";
            EXPECT_LE(start.at, first_->second) << "its start is put off";
        }
        first_.reset();
        if (!start.isGuess)
            first_ = {ticket, start.at};
    }
    // Tries to extend a lease. Lent devices stay lent in any case.
    void tryToExtend() {
        for (const auto& [sequence, environment] : std::map(ledger.environments())) {
            const bool isLent = std::any_of(
                environment.attachments.begin(), environment.attachments.end(),
                [this](const core::DeviceAttachment& attachment) {
                    return std::any_of(
                        attachment.keptFor.begin(), attachment.keptFor.end(),
                        [this](std::uint64_t ticket) { return ledger.waits().contains(ticket); });
                });
            if (!isLent)
                continue;
            ++refusedExtensions_;
            EXPECT_EQ(codeOf([&, &held = environment] {
                          ledger.configure(held.id,
                                           {{}, {}, {}, std::chrono::seconds{maxDuration * 2}},
                                           held.uid);
                      }),
                      core::ErrorCode::DeviceUnavailable);
        }
    }
    // Requests any one device for a minute, behind all others.
    void waitForAMinute() {
        if (modest_ && ledger.waits().contains(*modest_))
            return;
        const std::string id = std::to_string(next_++);
        activate(id, bob);
        modest_ = ask(id, {core::CountWanted{1}, {}, {}, false}, {}, {false, minutes{1}});
        scheduler.turn();
    }
    // Holds only while such a request waits.
    void expectNothingIdles() {
        for (const auto& [index, device] : ledger.devices().byIndex()) {
            if (!device.holders.empty() || !modest_ || !ledger.waits().contains(*modest_)) {
                idleSince_[index] = clock.bootNow();
                continue;
            }
            EXPECT_LE(clock.bootNow() -
                          idleSince_.try_emplace(index, clock.bootNow()).first->second,
                      times.keepFor)
                << "device " << index << " idles";
        }
    }

    std::mt19937 random{GetParam()};
    core::Leases leases{ledger, clock, scheduler, events};
    std::vector<core::WaitGranted> granted_;
    struct Asked {
        core::BootTime at;
        std::size_t ahead = 0;
    };
    std::map<std::string, Asked> asked_;
    std::optional<std::pair<std::uint64_t, core::BootTime>> first_;
    std::map<core::DeviceIndex, core::BootTime> idleSince_;
    std::optional<core::Queue::Ticket> modest_;
    unsigned next_ = 100;
    unsigned refusedExtensions_ = 0;
};

TEST_P(RandomLeases, ServeEverybodyInTimeWhereAllHaveOne) {
    times.maxWait = std::chrono::hours{24 * 365};
    for (int step = 0; step < 300; ++step) {
        if (ledger.waits().size() < people)
            come(false);
        if (below(20) == 0)
            leave();
        tryToExtend();
        expectTheFirstStartsNoLater();
        pass(minutes{below(15)});
        expectTheFirstStartsNoLater();
        expectNothingTwice(ledger);
        for (const core::WaitGranted& granted : std::exchange(granted_, {})) {
            const Asked& asked = asked_.at(granted.environment);
            EXPECT_LE(granted.waited, maxDuration * static_cast<int>(asked.ahead + 1))
                << granted.environment << " with " << asked.ahead << " before it";
        }
    }
    EXPECT_GT(refusedExtensions_, 0U);
    for (int i = 0; i < 1000 && !ledger.waits().empty(); ++i)
        pass(minutes{10});
    EXPECT_TRUE(ledger.waits().empty()) << "everybody's turn comes";
}

TEST_P(RandomLeases, LeaveNothingIdleWhereSomeHaveNone) {
    times.maxWait = std::chrono::hours{24 * 365};
    for (int step = 0; step < 300; ++step) {
        if (ledger.waits().size() < people)
            come(true);
        waitForAMinute();
        if (below(10) == 0)
            leave();
        expectTheFirstStartsNoLater();
        expectNothingIdles();
        pass(minutes{1 + below(3)});
        expectTheFirstStartsNoLater();
        expectNothingIdles();
        expectNothingTwice(ledger);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLeases, seedsTo(10));

} // namespace
} // namespace genv::tests
