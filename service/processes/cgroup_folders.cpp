// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/processes/cgroup_folders.hpp"

#include "core/model/slurm_cgroup.hpp"

#include <fmt/format.h>

#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace genv::service {

namespace {

// Returns the names in a folder, or none if the folder does not exist. Stores any other error in
// `list`.
std::vector<std::string> namesIn(const std::filesystem::path& folder, core::JobCgroupList& list) {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error))
        names.push_back(entry->path().filename());
    if (error && error != std::errc::no_such_file_or_directory &&
        error != std::errc::not_a_directory && error != std::errc::no_such_device)
        list.isRead = false;
    return names;
}

// Adds the job to which this group would belong. `line` has the format of proc_pid_cgroup(5).
void addJob(const std::string& line, core::JobCgroupList& list) {
    if (const auto cgroup = core::parseSlurmCgroup(line))
        list.jobs.insert(cgroup->job);
}

void addUnified(const std::filesystem::path& mount, core::JobCgroupList& list) {
    const std::filesystem::path slice = mount / "system.slice";
    for (const std::string& scope : namesIn(slice, list)) {
        if (!scope.ends_with("slurmstepd.scope"))
            continue;
        list.hasSlurm = true;
        for (const std::string& name : namesIn(slice / scope, list))
            addJob(fmt::format("0::/system.slice/{}/{}", scope, name), list);
    }
}

void addLegacy(const std::filesystem::path& root, const std::string& controller,
               core::JobCgroupList& list) {
    for (const std::string& slurm : namesIn(root / controller, list)) {
        if (slurm != "slurm" && !slurm.starts_with("slurm_"))
            continue;
        list.hasSlurm = true;
        for (const std::string& user : namesIn(root / controller / slurm, list)) {
            if (!user.starts_with("uid_"))
                continue;
            for (const std::string& name : namesIn(root / controller / slurm / user, list))
                addJob(fmt::format("1:{}:/{}/{}/{}", controller, slurm, user, name), list);
        }
    }
}

} // namespace

core::JobCgroupList listJobCgroups(const std::filesystem::path& root) {
    core::JobCgroupList list;
    addUnified(root, list);
    addUnified(root / "unified", list);
    addLegacy(root, "freezer", list);
    addLegacy(root, "devices", list);
    return list;
}

void CgroupFolders::list(std::function<void(const core::JobCgroupList&)> answer) {
    if (!worker_)
        worker_.emplace("genvd-cgroups", post_);
    worker_->run<core::JobCgroupList>(
        [root = root_] { return listJobCgroups(root); },
        [answer = std::move(answer)](const core::JobCgroupList& list) { answer(list); });
}

} // namespace genv::service
