// SPDX-License-Identifier: LGPL-2.1-or-later
#include "bench/queue/simulation.hpp"

#include "core/caps.hpp"
#include "core/ledger.hpp"
#include "core/queue.hpp"
#include "core/user_use.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace genv::bench {

namespace {

using std::chrono::seconds;

class JumpingClock : public core::Clock {
  public:
    [[nodiscard]] core::WallTime wallNow() const override {
        return core::WallTime{now_.time_since_epoch()};
    }
    [[nodiscard]] core::BootTime bootNow() const override { return now_; }
    void jump(core::BootTime to) { now_ = std::max(now_, to); }

  private:
    core::BootTime now_{seconds{1}};
};

/// Runs timers in the order of their times.
class JumpingScheduler : public core::Scheduler {
  public:
    explicit JumpingScheduler(JumpingClock& clock) : clock_(clock) {}

    void soon(std::function<void()> function) override { soon_.push_back(std::move(function)); }
    std::unique_ptr<core::Scheduled> after(std::chrono::milliseconds delay,
                                           std::function<void()> function) override {
        const Key key{clock_.bootNow() + delay, ++last_};
        timers_->emplace(key, std::move(function));
        return std::make_unique<Timer>(timers_, key);
    }
    /// Runs everything that is due until `until`.
    void run(core::BootTime until) {
        turn();
        while (!timers_->empty() && timers_->begin()->first.first <= until) {
            auto due = timers_->extract(timers_->begin());
            clock_.jump(due.key().first);
            due.mapped()();
            turn();
        }
        clock_.jump(until);
    }

  private:
    using Key = std::pair<core::BootTime, std::uint64_t>;
    using Timers = std::map<Key, std::function<void()>>;

    struct Timer : core::Scheduled {
        Timer(std::shared_ptr<Timers> all, Key own) : timers(std::move(all)), key(own) {}
        Timer(const Timer&) = delete;
        Timer& operator=(const Timer&) = delete;
        ~Timer() override { timers->erase(key); }
        std::shared_ptr<Timers> timers;
        Key key;
    };

    void turn() {
        while (!soon_.empty()) {
            const auto function = std::move(soon_.front());
            soon_.pop_front();
            function();
        }
    }

    JumpingClock& clock_;
    std::deque<std::function<void()>> soon_;
    std::shared_ptr<Timers> timers_ = std::make_shared<Timers>();
    std::uint64_t last_ = 0;
};

class NoDocuments : public core::Store {
  public:
    [[nodiscard]] std::string nameOf(const core::EnvironmentId& id) const override { return id; }
    void write(const core::EnvironmentId& /*id*/, const std::string& /*document*/) override {}
    void remove(const core::EnvironmentId& /*id*/) override {}
    std::vector<Found> readAll() override { return {}; }
    void setAside(const std::string& /*name*/, const std::string& /*why*/) override {}
};

class NoLog : public core::Log {
  public:
    void write(core::Severity /*severity*/, const std::string& /*line*/) override {}
};

class RunningProcess : public core::ProcessPin {
  public:
    explicit RunningProcess(core::Pid pid) : identity_{pid, pid} {}
    [[nodiscard]] bool hasExited() const override { return false; }
    [[nodiscard]] bool hasUids(const core::ProcessUids& /*uids*/) const override { return true; }
    bool signal(core::TerminationSignal /*signal*/) const override { return true; }
    [[nodiscard]] const core::ProcessIdentity& identity() const override { return identity_; }

  private:
    core::ProcessIdentity identity_;
};

class Simulation {
  public:
    Simulation(const Trace& trace, const core::OrderRules& rules) : trace_(trace), rules_(rules) {
        core::Observation seen;
        for (core::DeviceIndex index = 0; index < trace.gpus; ++index)
            seen.devices.push_back({{"GPU-" + std::to_string(index),
                                     index,
                                     core::DeviceKind::Gpu,
                                     "GPU",
                                     {80ULL << 30}},
                                    {},
                                    {}});
        ledger_.observed(seen);
        events_.subscribe([this](const core::Event& event) {
            use_.onEvent(event);
            queue_.onEvent(event);
        });
    }

    SimulationResult run() {
        for (const TraceRequest& request : trace_.requests) {
            advance(core::BootTime{seconds{1}} + request.arrival);
            held_[request.user].push_back(&request);
            submitHeld(request.user);
        }
        while (running_ > 0 || !ledger_.waits().empty())
            advance(clock_.bootNow() + std::chrono::hours{1});
        result_.lasted = std::chrono::duration_cast<seconds>(lastEnd_ - core::BootTime{seconds{1}});
        return std::move(result_);
    }

  private:
    // In steps of a minute, to add up idle devices.
    void advance(core::BootTime until) {
        while (clock_.bootNow() < until) {
            const core::BootTime next = std::min(until, clock_.bootNow() + std::chrono::minutes{1});
            const auto step = std::chrono::duration_cast<seconds>(next - clock_.bootNow());
            if (!ledger_.waits().empty())
                result_.idle += step * freeDevices();
            scheduler_.run(next);
        }
    }

    [[nodiscard]] std::int64_t freeDevices() const {
        return std::ranges::count_if(ledger_.devices().byIndex(), [](const auto& entry) {
            return entry.second.holders.empty();
        });
    }

    // A user may wait a limited number of times; the rest waits in the user's own list of jobs.
    void submitHeld(core::Uid user) {
        auto& held = held_[user];
        while (!held.empty() && waiting_[user] < core::caps::waitsPerUser) {
            submit(*held.front());
            held.pop_front();
        }
    }

    void submit(const TraceRequest& request) {
        const core::Pid pid = ++lastPid_;
        const std::string id = std::to_string(pid);
        const core::AttachRequest wanted{core::CountWanted{request.gpus}, {}, {}, false};
        const auto lifetime = request.hasLease
                                  ? std::optional(request.duration + request.duration / 10)
                                  : std::nullopt;
        const core::Plan plan = queue_.placeOrWait(wanted, core::Requester(request.user), lifetime);
        core::NewEnvironment environment{id, request.user, id, {}, {}, {}, false, lifetime};
        environment.processes.push_back({{pid, pid}, std::make_shared<RunningProcess>(pid)});
        ledger_.activate(std::move(environment), plan, 0);
        if (std::holds_alternative<core::Placement>(plan)) {
            start(request, id);
            return;
        }
        ++waiting_[request.user];
        const core::Queue::Ticket ticket = ledger_.get(id).waits.back().ticket;
        queue_.await(ticket, {request.user, id, {}}, std::nullopt,
                     [this, &request, id](const auto& /*refusal*/) {
                         --waiting_[request.user];
                         start(request, id);
                         scheduler_.soon([this, user = request.user] { submitHeld(user); });
                     });
    }

    void start(const TraceRequest& request, const std::string& id) {
        const auto waited = std::chrono::duration_cast<seconds>(
            clock_.bootNow() - core::BootTime{seconds{1}} - request.arrival);
        result_.waits[request.user].push_back(waited);
        result_.held += request.duration * request.gpus;
        ++running_;
        countOvertakings();
        ends_[id] = scheduler_.after(request.duration, [this, id] {
            --running_;
            lastEnd_ = clock_.bootNow();
            ledger_.deactivate(id, 0);
        });
    }

    // The number of a request stays with it until its grant, so each increase is one overtaking.
    void countOvertakings() {
        std::uint64_t now = 0;
        for (const auto& [ticket, id] : ledger_.waits()) {
            const std::uint32_t overtakings = ledger_.wait(ticket).overtakings;
            const std::uint32_t before = std::exchange(counted_[ticket], overtakings);
            now += overtakings - before;
            result_.mostOvertaken = std::max(result_.mostOvertaken, overtakings);
        }
        result_.overtakings += now;
    }

    const Trace& trace_;
    const core::OrderRules rules_;
    JumpingClock clock_;
    JumpingScheduler scheduler_{clock_};
    NoDocuments store_;
    NoLog log_;
    core::EventHub events_;
    core::Ledger ledger_{store_, clock_, events_};
    core::UserUse use_{ledger_, clock_, std::chrono::hours{7 * 24}};
    core::Queue queue_{ledger_,
                       clock_,
                       scheduler_,
                       events_,
                       log_,
                       [](const core::UserInfo&) { return core::Limits{}; },
                       [] { return core::WaitingTimes{std::chrono::hours{24 * 365}}; },
                       {[this] { return rules_; },
                        [](const core::UserInfo&) { return core::defaultWeight; }, &use_}};
    std::map<core::Uid, std::deque<const TraceRequest*>> held_; ///< not submitted yet
    std::map<core::Uid, std::size_t> waiting_;
    std::map<std::string, std::unique_ptr<core::Scheduled>> ends_;
    std::map<core::Queue::Ticket, std::uint32_t> counted_;
    core::Pid lastPid_ = 1;
    std::size_t running_ = 0;
    core::BootTime lastEnd_{};
    SimulationResult result_;
};

} // namespace

SimulationResult simulate(const Trace& trace, const core::OrderRules& rules) {
    return Simulation(trace, rules).run();
}

} // namespace genv::bench
