// SPDX-License-Identifier: LGPL-2.1-or-later
// The jobs of genv-jobs, on this machine.
#include "client/environment_job.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/jobs/job_system.hpp"

#include <filesystem>
#include <string>
#include <system_error>

namespace genv::ctl {

namespace {

std::string pathOfThisProgram() {
    std::error_code error;
    const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
    return error || !std::filesystem::exists(path, error) ? "genvctl" : path.native();
}

class OwnJobs : public JobSystem {
  public:
    void requireOptions(const CLI::App& /*options*/) const override {
        if (client::jobOfThisProcess())
            throw Failure(ExitStatus::Usage,
                          "genvctl submits no jobs inside a Slurm job: Slurm assigns the GPUs of "
                          "this machine",
                          "\"sbatch --gpus N --wrap COMMAND\" submits a job to Slurm.");
    }
    jobs::Submitted submit(const Work& work) override {
        jobs::NewJob job = work.job;
        if (work.script)
            job.command = commandOf(*work.script, pathOfThisProgram(), work.arguments);
        return link().submit(job);
    }
    std::vector<jobs::JobRow> list(bool all) override { return link().list(all); }
    jobs::JobDescription get(jobs::JobNumber job) override { return link().get(job); }
    std::vector<jobs::TaskRow> tasks(jobs::JobNumber job,
                                     const std::vector<std::uint32_t>& numbers) override {
        return link().tasks(job, numbers);
    }
    std::uint32_t change(Change change, jobs::JobNumber job,
                         const std::vector<std::uint32_t>& tasks) override {
        switch (change) {
        case Change::Cancel:
            return link().cancel(job, tasks);
        case Change::Hold:
            return link().hold(job, tasks);
        case Change::Release:
            return link().release(job, tasks);
        case Change::Requeue:
            break;
        }
        return link().requeue(job, tasks);
    }
    void listen() override { link().listen(); }
    jobs::Link::Changes await(int watched,
                              std::optional<std::chrono::milliseconds> timeout) override {
        return link().await(watched, timeout);
    }

  private:
    // Connects at the first call, so that an invalid option needs no user manager.
    jobs::Link& link() {
        if (!link_)
            link_.emplace();
        return *link_;
    }

    std::optional<jobs::Link> link_;
};

} // namespace

std::unique_ptr<JobSystem> openOwnJobs() {
    return std::make_unique<OwnJobs>();
}

} // namespace genv::ctl
