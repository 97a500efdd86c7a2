// SPDX-License-Identifier: LGPL-2.1-or-later
// Stand-ins for Slurm: they record the requests, and answer when the test says so.
#pragma once

#include "core/ports/job_cgroups.hpp"
#include "core/ports/slurm.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace genv::tests {

class FakeSlurm : public core::Slurm {
  public:
    std::vector<std::string> asked; ///< such as "cancel 12", or "end 12 1600000000" in seconds

    std::vector<Devices> questions; ///< pending requests for the list of devices

    void listDevices(Devices devices) override { questions.push_back(std::move(devices)); }
    void findJob(core::Sluid sluid, Found found) override {
        asked.push_back("find " + toString(sluid));
        finds_.push_back({sluid, std::move(found)});
    }
    void setEnd(core::SlurmJobId job, core::WallTime end, Done done) override {
        const auto seconds = std::chrono::floor<std::chrono::seconds>(end.time_since_epoch());
        ask(fmt::format("end {} {}", job, seconds.count()), std::move(done));
    }
    void cancel(core::SlurmJobId job, Done done) override {
        ask(fmt::format("cancel {}", job), std::move(done));
    }
    void requeue(core::SlurmJobId job, Done done) override {
        ask(fmt::format("requeue {}", job), std::move(done));
    }
    /// Answers all requests so far.
    void answer(const std::optional<core::SlurmFailure>& failure = std::nullopt) {
        for (const Done& done : std::exchange(waiting_, {}))
            done(failure);
    }
    std::map<core::Sluid, core::SlurmJobId> numbers; ///< of the jobs that Slurm knows
    /// Answers all requests for the number of a job so far.
    void find() {
        for (const auto& [sluid, found] : std::exchange(finds_, {})) {
            const auto number = numbers.find(sluid);
            if (number != numbers.end())
                found(number->second);
            else
                found(core::SlurmFailure{"squeue said: Invalid job id specified"});
        }
    }
    /// Answers the first request for the list of devices.
    void list(const std::variant<std::vector<core::SlurmDevice>, core::SlurmFailure>& devices) {
        ASSERT_FALSE(questions.empty());
        const Devices question = std::move(questions.front());
        questions.erase(questions.begin());
        question(devices);
    }

  private:
    void ask(std::string what, Done done) {
        asked.push_back(std::move(what));
        waiting_.push_back(std::move(done));
    }
    std::vector<Done> waiting_;
    std::vector<std::pair<core::Sluid, Found>> finds_;
};

class FakeJobCgroups : public core::JobCgroups {
  public:
    core::JobCgroupList found{true, true, {}};
    int lists = 0;

    void list(std::function<void(const core::JobCgroupList&)> answer) override {
        ++lists;
        if (slow)
            waiting = std::move(answer);
        else
            answer(found);
    }
    bool slow = false;
    std::function<void(const core::JobCgroupList&)> waiting;
};

} // namespace genv::tests
