// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/machines.hpp"

#include "client/genvctl/objects/job.hpp"
#include "client/genvctl/objects/schema.hpp"
#include "client/jobs/daemon/reasons.hpp"
#include "client/jobs/files/places.hpp"
#include "client/jobs/model/job_error.hpp"
#include "client/jobs/model/job_state.hpp"
#include "client/jobs/store/other_machine.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

namespace genv::jobs {

namespace {

namespace fs = std::filesystem;
using ctl::Json;

Json timeOf(const std::optional<core::WallTime>& time) {
    return time ? Json(core::toMicroseconds(*time)) : Json(nullptr);
}

Json jsonOf(const std::string& machine, const Job& job) {
    const Progress& progress = job.progress;
    return ctl::object<ctl::schema::job>({{"job", job.number},
                                          {"machine", machine},
                                          {"name", ctl::orNull(job.name)},
                                          {"state", wordOf(stateOf(job))},
                                          {"command", ctl::orNull(job.command)},
                                          {"gpus", job.gpus},
                                          {"array", job.isArray},
                                          {"tasks", job.tasks.size()},
                                          {"waiting", progress.waiting + progress.held},
                                          {"running", progress.running},
                                          {"done", progress.done},
                                          {"failed", progress.failed + progress.lost},
                                          {"canceled", progress.canceled},
                                          {"submitted", core::toMicroseconds(job.submitted)},
                                          {"started", timeOf(startOf(job))},
                                          {"ended", timeOf(endOf(job))},
                                          {"status", ctl::orNull(statusOf(job))}});
}

std::vector<fs::path> otherFolders() {
    const fs::path own = places().folder;
    std::vector<fs::path> folders;
    std::error_code error; // nobody has submitted a job yet
    for (const fs::directory_entry& entry : fs::directory_iterator(machinesFolder(), error)) {
        if (entry.path() != own)
            folders.push_back(entry.path());
    }
    std::ranges::sort(folders);
    return folders;
}

} // namespace

std::string jobsOfOtherMachines() {
    const fs::path database = places().database.filename();
    Json rows = Json::array();
    for (const fs::path& folder : otherFolders()) {
        std::error_code error;
        if (!fs::exists(folder / database, error))
            continue;
        try {
            for (const Job& job : jobsOfOtherMachine(folder / database))
                rows.push_back(jsonOf(folder.filename(), job));
        } catch (const JobError& failure) {
            std::fprintf(stderr, "genv-jobs: %s\n", failure.what());
        }
    }
    return rows.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace genv::jobs
