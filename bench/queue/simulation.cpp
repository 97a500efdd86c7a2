// SPDX-License-Identifier: LGPL-2.1-or-later
#include "bench/queue/simulation.hpp"

#include "bench/queue/machine.hpp"
#include "core/ledger/ledger.hpp"
#include "core/limits/admission.hpp"
#include "core/loans/takings.hpp"
#include "core/parking/parkings.hpp"
#include "core/queue/queue.hpp"
#include "core/settings/caps.hpp"
#include "core/use/decayed_use.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace genv::bench {

namespace {

using std::chrono::seconds;

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

core::ParkingSettings parkingSettings() {
    core::ParkingSettings settings;
    settings.maxParkedTime = std::chrono::hours{24 * 365}; // what nobody ends is measured
    settings.multiGpu = true;
    return settings;
}

std::chrono::seconds toSeconds(std::chrono::microseconds time) {
    return std::chrono::duration_cast<seconds>(time);
}

class Simulation {
  public:
    Simulation(const Trace& trace, const SimulationRules& rules) : trace_(trace), rules_(rules) {
        for (const TraceRequest& request : trace.requests)
            largest_[request.user] = std::max(largest_[request.user], request.gpus);
        queue_.takeBy(takings_);
        ledger_.observed(machine_.sample());
        machine_.onSample([this](const core::Observation& seen) { ledger_.observed(seen); });
        machine_.onExit(
            [this](const core::ProcessIdentity& process) { ledger_.processExited(process); });
        events_.subscribe([this](const core::Event& event) {
            use_.onEvent(event);
            queue_.onEvent(event);
            parkings_.onEvent(event);
            takings_.onEvent(event);
            onEvent(event);
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
        result_.lasted = toSeconds(lastEnd_ - core::BootTime{seconds{1}});
        result_.moved = machine_.moved();
        result_.mostParked = machine_.mostParked();
        return std::move(result_);
    }

  private:
    /// A request that has started, or waits for that.
    struct Submitted {
        const TraceRequest* request = nullptr;
        WaitingTime waited = {};
        std::optional<core::BootTime> parkedSince = {};
    };

    // In steps of a minute, to add up idle devices.
    void advance(core::BootTime until) {
        while (clock_.bootNow() < until) {
            const core::BootTime next = std::min(until, clock_.bootNow() + std::chrono::minutes{1});
            const auto step = toSeconds(next - clock_.bootNow());
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

    [[nodiscard]] core::Limits limitsOf(core::Uid user) const {
        core::Limits limits;
        if (rules_.quota)
            limits.maxDevices = std::max(*rules_.quota, largest_.at(user));
        if (rules_.loans)
            limits.maxPreemptibleDevices = trace_.gpus;
        return limits;
    }

    // A user may wait a limited number of times; the rest waits in the user's own list of jobs.
    void submitHeld(core::Uid user) {
        auto& held = held_[user];
        while (!held.empty() && waiting_[user] < core::caps::waitsPerUser) {
            submit(*held.front());
            held.pop_front();
        }
    }

    [[nodiscard]] core::Preemptible preemptibleOf(const TraceRequest& request) const {
        return rules_.loans && request.loan ? core::Preemptible::Park : core::Preemptible::No;
    }

    [[nodiscard]] core::Plan planFor(const TraceRequest& request,
                                     std::optional<seconds> lifetime) const {
        const core::AttachRequest wanted{core::CountWanted{request.gpus}, {}, {}, false};
        core::Plan plan = queue_.placeOrWait(wanted, core::Requester(request.user), lifetime);
        if (auto* wait = std::get_if<core::PlannedWait>(&plan))
            wait->holdForQuota = true;
        const core::UserInfo owner{request.user, std::to_string(request.user), {}};
        if (core::admitActivation(ledger_, owner, limitsOf(request.user), plan,
                                  queue_.keptFor(request.user), preemptibleOf(request)))
            return core::PlannedWait{wanted, core::placementOf(plan), true, true};
        return plan;
    }

    void submit(const TraceRequest& request) {
        const core::Pid pid = std::exchange(nextPid_, nextPid_ + request.gpus + 1);
        const std::string id = std::to_string(pid);
        const auto lifetime = request.hasLease
                                  ? std::optional(request.duration + request.duration / 10)
                                  : std::nullopt;
        const core::Plan plan = planFor(request, lifetime);
        core::NewEnvironment environment{id, request.user, id, {}, {}, {}, false, lifetime};
        environment.configuration.preemptible = preemptibleOf(request);
        environment.processes.push_back({{pid, 7}, machine_.start(pid, request.user)});
        submitted_[id] = {&request, {{}, {}, request.loan.has_value()}};
        ledger_.activate(std::move(environment), plan, 0);
        if (std::holds_alternative<core::Placement>(plan)) {
            start(id, pid);
            return;
        }
        ++waiting_[request.user];
        const core::Queue::Ticket ticket = ledger_.get(id).waits.back().ticket;
        queue_.await(ticket, {request.user, id, {}}, std::nullopt,
                     [this, &request, id, pid](const auto& /*refusal*/) {
                         --waiting_[request.user];
                         start(id, pid);
                         scheduler_.soon([this, user = request.user] { submitHeld(user); });
                     });
    }

    void start(const std::string& id, core::Pid pid) {
        Submitted& submitted = submitted_.at(id);
        const TraceRequest& request = *submitted.request;
        submitted.waited.beforeStart =
            toSeconds(clock_.bootNow() - core::BootTime{seconds{1}} - request.arrival);
        result_.held += request.duration * request.gpus;
        ++running_;
        countOvertakings();
        Job job{pid, request.user, {}, request.loan.value_or(core::Bytes{0}), request.duration, {}};
        for (const core::DeviceAttachment& attachment : ledger_.get(id).attachments)
            job.devices.push_back(attachment.device.uuid);
        job.ended = [this, id] { ended(id); };
        machine_.run(std::move(job));
        ledger_.observed(machine_.sample());
    }

    // Its processes have ended, and so its environment.
    void ended(const std::string& id) {
        const auto submitted = submitted_.extract(id);
        result_.waits[submitted.mapped().request->user].push_back(submitted.mapped().waited);
        --running_;
        lastEnd_ = clock_.bootNow();
    }

    void onEvent(const core::Event& event) {
        if (const auto* parked = std::get_if<core::EnvironmentParked>(&event)) {
            ++result_.parks;
            submitted_.at(parked->environment).parkedSince = clock_.bootNow();
        } else if (const auto* resumed = std::get_if<core::EnvironmentResumed>(&event)) {
            Submitted& submitted = submitted_.at(resumed->environment);
            const auto time = toSeconds(clock_.bootNow() - *submitted.parkedSince);
            submitted.waited.parked += time;
            result_.longestParked = std::max(result_.longestParked, time);
        } else if (std::holds_alternative<core::ParkingFailed>(event)) {
            ++result_.failedParks;
        }
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
    const SimulationRules rules_;
    const core::ParkingSettings parking_ = parkingSettings();
    std::map<core::Uid, std::uint32_t> largest_; ///< request of each user
    JumpingClock clock_;
    JumpingScheduler scheduler_{clock_};
    Machine machine_{trace_.gpus, clock_, scheduler_};
    NoDocuments store_;
    NoLog log_;
    core::EventHub events_;
    core::Ledger ledger_{store_, clock_, events_};
    core::DecayedUse use_{ledger_, clock_, std::chrono::hours{7 * 24}};
    core::Queue queue_{ledger_,
                       clock_,
                       scheduler_,
                       events_,
                       log_,
                       [this](const core::UserInfo& user) { return limitsOf(user.uid); },
                       [] { return core::WaitingTimes{std::chrono::hours{24 * 365}}; },
                       {[this] { return core::OrderRules{rules_.order}; },
                        [](const core::UserInfo&) { return core::defaultWeight; }, &use_}};
    core::Parkings parkings_{ledger_,
                             {machine_, machine_, machine_, machine_},
                             clock_,
                             scheduler_,
                             events_,
                             {[this]() -> const core::ParkingSettings& { return parking_; },
                              [] { return std::chrono::seconds{30}; },
                              [] { return std::chrono::seconds{10}; }}};
    core::Takings takings_{ledger_,
                           parkings_,
                           clock_,
                           scheduler_,
                           events_,
                           log_,
                           {[this]() -> const core::ParkingSettings& { return parking_; },
                            [] { return std::chrono::seconds{30}; },
                            [] { return std::chrono::seconds{10}; }, [] { return true; }}};
    std::map<core::Uid, std::deque<const TraceRequest*>> held_; ///< not submitted yet
    std::map<core::Uid, std::size_t> waiting_;
    std::map<std::string, Submitted> submitted_;
    std::map<core::Queue::Ticket, std::uint32_t> counted_;
    core::Pid nextPid_ = 2; ///< the next one that is unused
    std::size_t running_ = 0;
    core::BootTime lastEnd_{};
    SimulationResult result_;
};

} // namespace

SimulationResult simulate(const Trace& trace, const SimulationRules& rules) {
    return Simulation(trace, rules).run();
}

} // namespace genv::bench
