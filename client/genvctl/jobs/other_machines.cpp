// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/jobs/other_machines.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/sibling_program.hpp"
#include "client/genvctl/terminal/json.hpp"
#include "client/genvctl/terminal/text.hpp"
#include "client/remote/ssh/ssh.hpp"
#include "core/time.hpp"

#include <array>
#include <chrono>
#include <cstdio>

namespace genv::ctl {

namespace {

constexpr std::chrono::hours recently{24};

// Its errors go to standard error.
std::string answerOf(const std::vector<std::string>& command) {
    std::string text;
    std::FILE* const pipe = popen(remote::commandLine(command).c_str(), "re");
    if (pipe == nullptr)
        throw Failure(ExitStatus::Failed, command.front() + " cannot be run");
    std::array<char, 65536> block{};
    while (const std::size_t count = std::fread(block.data(), 1, block.size(), pipe))
        text.append(block.data(), count);
    if (pclose(pipe) != 0)
        throw Failure(ExitStatus::Failed, "genv-jobs cannot read the jobs of other machines");
    return text;
}

MachineJob jobIn(const Json& json) {
    MachineJob job;
    json.at("machine").get_to(job.machine);
    json.at("number").get_to(job.number);
    json.at("name").get_to(job.name);
    json.at("state").get_to(job.state);
    json.at("command").get_to(job.command);
    json.at("gpus").get_to(job.gpus);
    json.at("tasks").get_to(job.tasks);
    json.at("waiting").get_to(job.waiting);
    json.at("running").get_to(job.running);
    json.at("done").get_to(job.done);
    json.at("failed").get_to(job.failed);
    json.at("canceled").get_to(job.canceled);
    json.at("array").get_to(job.isArray);
    json.at("submitted").get_to(job.submitted);
    json.at("started").get_to(job.started);
    json.at("ended").get_to(job.ended);
    json.at("status").get_to(job.status);
    return job;
}

bool isOld(const MachineJob& job) {
    return job.hasEnded() && core::fromMicroseconds(job.ended) < currentTime() - recently;
}

} // namespace

std::vector<MachineJob> jobsOfOtherMachines(bool all) {
    const std::string program = siblingPath({"genv-jobs", GENV_JOBS_PATH, "The program", "genv"});
    std::vector<MachineJob> jobs;
    try {
        for (const Json& json : Json::parse(answerOf({program, "--machines"})))
            jobs.push_back(jobIn(json));
    } catch (const Json::exception&) {
        throw Failure(ExitStatus::Failed, "genv-jobs of another version is installed",
                      "Install the package genv completely.");
    }
    if (!all)
        std::erase_if(jobs, isOld);
    return jobs;
}

} // namespace genv::ctl
