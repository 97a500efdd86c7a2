// SPDX-License-Identifier: LGPL-2.1-or-later
// The objects that handlers use, as stand-ins: polkit, the driver, processes and the history answer
// when the test says so.
#pragma once

#include "core/environments/root_process.hpp"
#include "core/loans/takings.hpp"
#include "core/parking/parkings.hpp"
#include "core/settings/caps.hpp"
#include "dbus/calls/bus_context.hpp"
#include "tests/core/fake_gates.hpp"
#include "tests/core/fake_slurm.hpp"
#include "tests/core/fakes.hpp"
#include "tests/dbus/reply_fixture.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace genv::tests {

/// Answers questions when the test says so, unless they were canceled.
class FakeAuthorizer : public policy::Authorizer {
  public:
    [[nodiscard]] std::unique_ptr<policy::Check> ask(const std::string& busName,
                                                     const policy::Question& question,
                                                     bool interactive, Answer answer) override {
        questions.push_back(question);
        askedFor.push_back(busName);
        wereInteractive.push_back(interactive);
        auto pending = std::make_shared<Answer>(std::move(answer));
        waiting_.push_back(pending);
        return std::make_unique<Asked>(std::move(pending));
    }
    /// Answers the questions so far. Returns whether any of them had not been canceled.
    bool answer(policy::Verdict verdict) {
        bool wanted = false;
        for (const auto& weak : std::exchange(waiting_, {}))
            wanted |= answer(weak, verdict);
        return wanted;
    }
    /// Answers the earliest open question only.
    bool answerFirst(policy::Verdict verdict) {
        const auto first = waiting_.front();
        waiting_.erase(waiting_.begin());
        return answer(first, verdict);
    }
    /// Answers the latest open question only.
    bool answerLast(policy::Verdict verdict) {
        const auto last = waiting_.back();
        waiting_.pop_back();
        return answer(last, verdict);
    }
    /// Returns the number of questions that were neither answered nor canceled.
    [[nodiscard]] std::size_t open() const {
        return static_cast<std::size_t>(
            std::ranges::count_if(waiting_, [](const auto& asked) { return !asked.expired(); }));
    }

    std::vector<policy::Question> questions;
    std::vector<std::string> askedFor; ///< the connections
    std::vector<bool> wereInteractive;

  private:
    static bool answer(const std::weak_ptr<Answer>& asked, policy::Verdict verdict) {
        const auto pending = asked.lock();
        if (!pending)
            return false;
        const Answer callback = *pending;
        callback(verdict);
        return true;
    }
    struct Asked : policy::Check {
        explicit Asked(std::shared_ptr<Answer> asked) : pending(std::move(asked)) {}
        void abandon() override {} // the answer may still come
        std::shared_ptr<Answer> pending;
    };
    std::vector<std::weak_ptr<Answer>> waiting_;
};

class FakeHistory : public core::History {
  public:
    [[nodiscard]] std::vector<std::string_view> kinds() const override {
        return {"attached", "detached"};
    }
    void read(core::Uid /*asking*/, core::HistoryFilter query,
              std::function<void(core::HistoryPage)> answer) override {
        queries.push_back(std::move(query));
        answers.push_back(std::move(answer));
    }
    std::vector<core::HistoryFilter> queries;
    std::vector<std::function<void(core::HistoryPage)>> answers;
};

class ContextTest : public ReplyTest {
  protected:
    ContextTest() {
        users.add(bob, "bob");
        events.subscribe([this](const core::Event& event) { lingering.onEvent(event); });
    }

    FakeAuthorizer authorizer;
    FakeClock clock;
    FakeStore store;
    FakeProcesses processes;
    FakeObserver observer;
    FakeScheduler scheduler;
    FakeUsers users;
    FakeHistory history;
    SilentLog log;
    core::EventHub events;
    core::Ledger ledger{store, clock, events};
    core::Lingering lingering{ledger,    observer, processes,
                              scheduler, events,   [this] { return settings.linger; }};
    core::Occupancy occupancy{ledger, observer, scheduler};
    core::Idleness idleness;
    core::ReadingRing readings;
    core::DecayedUse use{ledger, clock, std::chrono::hours{7 * 24}};
    core::Settings settings;
    core::Queue queue{ledger,
                      clock,
                      scheduler,
                      events,
                      log,
                      [](const core::UserInfo&) { return core::Limits{}; },
                      [] { return core::WaitingTimes{}; }};
    core::Terminator terminator{processes, observer, scheduler,
                                events,    99,       [] { return std::chrono::seconds{10}; }};
    core::Enforcer enforcer{{ledger, observer, users, terminator, idleness, clock, events, log}};
    FakeGates gates;
    core::Isolation isolation{
        ledger, gates, events, log,
        [this]() -> const core::IsolationSettings& { return settings.isolation; }};
    KeptReports reportedOpens;
    core::RefusalWatch refusedOpens{isolation, gates, reportedOpens, events, clock};
    dbus::Callers callers;
    dbus::Gate gate{authorizer};
    dbus::CallPlaces listCalls{core::caps::listCallsPerUser, "list"};
    dbus::CallPlaces startingCalls{core::caps::startingCallsPerUser, "start"};
    dbus::WaitingCalls waitingCalls;
    FakeSlurm slurm; ///< destroyed before the objects that its answers refer to

  private:
    struct NoDescriptors : core::LockDescriptors {
        std::unique_ptr<core::LockEnd> open(std::uint64_t /*number*/) override { return nullptr; }
        void close(std::uint64_t /*number*/) override {}
        std::set<std::uint64_t> found() override { return {}; }
        [[nodiscard]] bool isReleased(std::uint64_t) const override { return false; }
        void onRelease(std::function<void(std::uint64_t)> /*listener*/) override {}
    };
    struct NoJupyterKernels : core::JupyterKernels {
        void find(core::Uid /*asker*/, core::Uid /*owner*/, const std::string& /*jupyterKernel*/,
                  core::Pid /*asking*/, std::function<void(Found)> /*answer*/) override {}
    };
    struct NoParker : core::Parker {
        void call(core::ParkingCall /*call*/, const core::ParkingTarget& /*target*/,
                  std::chrono::milliseconds /*lockTimeout*/,
                  std::function<void(const core::ParkingReply&)> /*answer*/) override {}
        void capability(std::function<void(const core::ParkingCapability&)> /*answer*/) override {}
    };
    struct NoHostMemory : core::HostMemory {
        void read(const std::vector<core::ProcessIdentity>& /*processes*/,
                  std::function<void(const core::HostMemoryReading&)> /*answer*/) override {}
    };
    NoDescriptors descriptors_;
    NoJupyterKernels jupyterKernels_;
    core::Locks locks_{ledger, descriptors_, scheduler, log};
    FakeJobCgroups cgroups_;
    NoParker parker_;
    NoHostMemory hostMemory_;
    core::Parkings parkings_{ledger,
                             {observer, processes, parker_, hostMemory_},
                             clock,
                             scheduler,
                             events,
                             {[this]() -> const core::ParkingSettings& { return settings.parking; },
                              [] { return std::chrono::seconds{30}; },
                              [] { return std::chrono::seconds{10}; }}};
    core::Takings takings_{ledger,
                           parkings_,
                           clock,
                           scheduler,
                           events,
                           log,
                           {[this]() -> const core::ParkingSettings& { return settings.parking; },
                            [] { return std::chrono::seconds{30}; },
                            [] { return std::chrono::seconds{10}; }, [] { return false; }}};

  protected:
    core::Jobs jobs{ledger, users, cgroups_, slurm, clock, log};
    dbus::BusContext context{
        {ledger, queue, locks_, lingering, occupancy, jobs, idleness, readings, use, parkings_,
         takings_},
        {observer, processes, jupyterKernels_, users, history, slurm},
        {enforcer, terminator},
        {isolation, refusedOpens},
        {callers, gate, *this, listCalls, startingCalls, waitingCalls, isEnding},
        {clock, scheduler, log},
        {[this]() -> const core::Settings& { return settings; },
         [](const core::Actor&, const std::function<void()>& done) { done(); }}};
};

} // namespace genv::tests
