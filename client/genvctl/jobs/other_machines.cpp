// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/jobs/other_machines.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/sibling_program.hpp"
#include "client/genvctl/terminal/json.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "client/remote/ssh/ssh.hpp"
#include "core/base/time.hpp"

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

// Sets a value, unless it is null.
template <typename Value>
void readMember(const Json& json, const char* key, Value& value) {
    if (!json.at(key).is_null())
        json.at(key).get_to(value);
}

MachineJob jobIn(const Json& json) {
    MachineJob job;
    readMember(json, "machine", job.machine);
    readMember(json, "job", job.number);
    readMember(json, "name", job.name);
    readMember(json, "state", job.state);
    readMember(json, "command", job.command);
    readMember(json, "gpus", job.gpus);
    readMember(json, "array", job.isArray);
    readMember(json, "tasks", job.tasks);
    readMember(json, "waiting", job.waiting);
    readMember(json, "running", job.running);
    readMember(json, "done", job.done);
    readMember(json, "failed", job.failed);
    readMember(json, "canceled", job.canceled);
    readMember(json, "submitted", job.submitted);
    readMember(json, "started", job.started);
    readMember(json, "ended", job.ended);
    readMember(json, "status", job.status);
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
