// SPDX-License-Identifier: LGPL-2.1-or-later
// Stand-ins for the core's ports. The test controls everything: time, processes, faults of the
// store, and the turns of the loop.
#pragma once

#include "core/base/error.hpp"
#include "core/ledger/ledger.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/log.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/processes.hpp"
#include "core/ports/scheduler.hpp"
#include "core/ports/store.hpp"
#include "core/ports/users.hpp"
#include "tests/core/fake_processes.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace genv::tests {

class FakeClock : public core::Clock {
  public:
    core::WallTime wall{std::chrono::seconds{1'600'000'000}};
    core::BootTime boot{std::chrono::seconds{1000}};

    [[nodiscard]] core::WallTime wallNow() const override { return wall; }
    [[nodiscard]] core::BootTime bootNow() const override { return boot; }
    void pass(std::chrono::microseconds time) {
        wall += time;
        boot += time;
    }
};

class FakeStore : public core::Store {
  public:
    std::map<std::string, std::string> documents; ///< by name
    std::vector<std::string> aside;
    int writesUntilFailure = -1;           ///< -1: never; 0: the next write and all later ones fail
    int failures = 0;                      ///< the number of failed writes
    int maxFailures = 1 << 30;             ///< writes succeed again after this number of failures
    std::function<void()> changed = [] {}; ///< called after each change of `documents`

    [[nodiscard]] std::string nameOf(const core::EnvironmentId& id) const override { return id; }
    void write(const core::EnvironmentId& id, const std::string& document) override {
        step();
        documents[id] = document;
        changed();
    }
    void remove(const core::EnvironmentId& id) override {
        step();
        documents.erase(id);
        changed();
    }
    std::vector<Found> readAll() override {
        std::vector<Found> found;
        for (const auto& [name, text] : documents)
            found.push_back({name, text});
        return found;
    }
    void setAside(const std::string& name, const std::string& /*why*/) override {
        aside.push_back(name);
        documents.erase(name);
    }

  private:
    void step() {
        if (writesUntilFailure > 0) {
            --writesUntilFailure;
        } else if (writesUntilFailure == 0 && failures < maxFailures) {
            ++failures;
            core::fail(core::ErrorCode::StorageFailed, "no space left");
        }
    }
};

/// A loop that turns only when the test says so.
class FakeScheduler : public core::Scheduler {
  public:
    void soon(std::function<void()> function) override { soon_.push_back(std::move(function)); }
    [[nodiscard]] std::unique_ptr<core::Scheduled> after(std::chrono::milliseconds delay,
                                                         std::function<void()> function) override {
        const std::uint64_t id = ++lastId_;
        timers_->emplace(id, Entry{now_ + delay, std::move(function)});
        return std::make_unique<Timer>(timers_, id);
    }
    void turn() {
        while (!soon_.empty()) {
            const auto function = std::move(soon_.front());
            soon_.pop_front();
            function();
        }
    }
    void pass(std::chrono::milliseconds time) {
        now_ += time;
        const auto isDue = [this](const auto& entry) { return entry.second.due <= now_; };
        for (auto due = std::find_if(timers_->begin(), timers_->end(), isDue);
             due != timers_->end(); due = std::find_if(timers_->begin(), timers_->end(), isDue)) {
            const auto function = std::move(due->second.function);
            timers_->erase(due);
            function();
        }
    }

  private:
    struct Entry {
        std::chrono::milliseconds due;
        std::function<void()> function;
    };
    using Timers = std::map<std::uint64_t, Entry>;

    struct Timer : core::Scheduled {
        Timer(std::shared_ptr<Timers> all, std::uint64_t own) : timers(std::move(all)), id(own) {}
        Timer(const Timer&) = delete;
        Timer& operator=(const Timer&) = delete;
        ~Timer() override { timers->erase(id); }

        std::shared_ptr<Timers> timers;
        std::uint64_t id;
    };

    std::deque<std::function<void()>> soon_;
    std::shared_ptr<Timers> timers_ = std::make_shared<Timers>();
    std::uint64_t lastId_ = 0;
    std::chrono::milliseconds now_{0};
};

/// Keeps the logged messages.
class SilentLog : public core::Log {
  public:
    void write(core::Severity /*severity*/, const std::string& line) override {
        lines.push_back(line);
    }
    std::vector<std::string> lines;
};

/// Users by uid. A user who was not added has no name and no groups.
class FakeUsers : public core::Users {
  public:
    std::map<core::Uid, core::UserInfo> known;

    void add(core::Uid uid, const std::string& name, std::vector<core::Gid> groups = {}) {
        known[uid] = {uid, name, std::move(groups)};
    }
    /// Answers at once. Knows each user by name, in any case of the letters.
    void resolve(core::Uid /*asking*/, const core::Names& names,
                 std::function<void(const core::ResolvedNames&)> answer) override {
        const auto lower = [](std::string text) {
            for (char& c : text)
                c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
            return text;
        };
        core::ResolvedNames found;
        found.groups.nobody = names.groups;
        for (const std::string& name : names.users) {
            const auto user = std::ranges::find_if(
                known, [&](const auto& each) { return lower(each.second.name) == lower(name); });
            if (user != known.end())
                found.users.names[user->first].insert(name);
            else
                found.users.nobody.insert(name);
        }
        answer(found);
    }
    /// Answers at once, or in later() if `slow`.
    void describe(core::Uid uid, std::function<void(const core::UserInfo&)> answer) override {
        const auto found = known.find(uid);
        const core::UserInfo user =
            found != known.end() ? found->second : core::UserInfo{uid, std::to_string(uid), {}};
        if (slow)
            waiting_.emplace_back([user, answer = std::move(answer)] { answer(user); });
        else
            answer(user);
    }
    void later() {
        for (const auto& each : std::exchange(waiting_, {}))
            each();
    }
    bool slow = false;

  private:
    std::vector<std::function<void()>> waiting_;
};

/// Provides observations when the test says so.
class FakeObserver : public core::Observer {
  public:
    void observe(std::chrono::milliseconds oldest, Answer answer) override {
        lastAge = oldest;
        waiting.push_back(std::move(answer));
    }
    [[nodiscard]] std::shared_ptr<const core::Observation> last() const override { return last_; }

    void answer(const core::Observation& observation) {
        keep(observation);
        answerKept();
    }
    /// The two parts of answer(): the observation becomes the last one, and the pending requests
    /// get it.
    void keep(const core::Observation& observation) {
        last_ = std::make_shared<const core::Observation>(observation);
    }
    void answerKept() {
        for (const auto& each : std::exchange(waiting, {}))
            each(last_, {});
    }
    void fail(const std::string& why) {
        for (const auto& each : std::exchange(waiting, {}))
            each(nullptr, why);
    }

    std::vector<Answer> waiting;
    std::chrono::milliseconds lastAge{-1}; ///< the maximum age in the last request

  private:
    std::shared_ptr<const core::Observation> last_;
};

// -- test data

inline constexpr core::Uid alice = 1001;
inline constexpr core::Uid bob = 1002;
inline constexpr core::Uid root = 0;

inline core::Bytes gigabytes(std::uint64_t count) {
    return {count * 1'000'000'000};
}

inline core::DeviceFacts gpuFacts(core::DeviceIndex index, const std::string& model = "NVIDIA A100",
                                  core::Bytes memory = gigabytes(16)) {
    return {"GPU-" + std::to_string(index), index, core::DeviceKind::Gpu, model, memory};
}

inline core::DeviceFacts migFacts(core::DeviceIndex index, core::Bytes memory = gigabytes(5)) {
    return {"MIG-" + std::to_string(index), index, core::DeviceKind::MigInstance,
            "NVIDIA A100 MIG 1g.5gb", memory};
}

inline core::DeviceSample sampleOf(core::DeviceFacts facts, core::Health health = {}) {
    return {std::move(facts), {}, health};
}

/// Returns an observation of `count` equal GPUs.
inline core::Observation gpus(core::DeviceIndex count) {
    core::Observation observation;
    for (core::DeviceIndex index = 0; index < count; ++index)
        observation.devices.push_back(sampleOf(gpuFacts(index)));
    return observation;
}

inline core::ObservedProcess computeProcess(core::Pid pid, core::Uid uid,
                                            const std::vector<core::DeviceUuid>& devices,
                                            core::Bytes memory = gigabytes(1)) {
    core::ObservedProcess process;
    process.facts = {{pid, 7}, {uid, uid, uid, uid}, 1};
    for (const core::DeviceUuid& device : devices)
        process.uses.push_back({device, memory});
    return process;
}

/// Returns the code of the error that a function throws. Fails the test if it throws none.
template <typename Function>
core::ErrorCode codeOf(Function&& function) {
    try {
        std::forward<Function>(function)();
    } catch (const core::Error& error) {
        return error.code();
    }
    throw std::logic_error("nothing was refused");
}

} // namespace genv::tests
