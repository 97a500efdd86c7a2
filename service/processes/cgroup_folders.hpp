// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: the control groups of Slurm's jobs, as folders of the kernel's file system. No user can
// make one there, and none can keep a reader of it waiting; it is read on a worker all the same,
// which starts with the first job.
#pragma once

#include "core/ports/job_cgroups.hpp"
#include "service/loop/worker.hpp"

#include <filesystem>
#include <optional>

namespace genv::service {

/// Lists the groups of jobs below the mount point of the hierarchies: of version 2, of version 1
/// (freezer and devices), and of both where a machine has both. Blocks; for the worker.
core::JobCgroupList listJobCgroups(const std::filesystem::path& root);

class CgroupFolders : public core::JobCgroups {
  public:
    explicit CgroupFolders(Worker::Post post, std::filesystem::path root = "/sys/fs/cgroup")
        : post_(std::move(post)), root_(std::move(root)) {}

    void list(std::function<void(const core::JobCgroupList&)> answer) override;

  private:
    Worker::Post post_;
    std::filesystem::path root_;
    std::optional<Worker> worker_; // last: it uses the others until it is gone
};

} // namespace genv::service
