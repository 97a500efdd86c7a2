// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: lists the control groups of Slurm's jobs, which are folders in the kernel's file system.
// No user can create one there or block a reader of it. The folders are read on a worker
// nevertheless, which starts with the first job.
#pragma once

#include "core/ports/job_cgroups.hpp"
#include "service/loop/worker.hpp"

#include <filesystem>
#include <optional>

namespace genv::service {

/// Lists the groups of jobs below the mount point of the hierarchies: version 2, version 1 (freezer
/// and devices), or both if a machine has both. Blocks, so call it on the worker.
core::JobCgroupList listJobCgroups(const std::filesystem::path& root);

class CgroupFolders : public core::JobCgroups {
  public:
    explicit CgroupFolders(Worker::Post post, std::filesystem::path root = "/sys/fs/cgroup")
        : post_(std::move(post)), root_(std::move(root)) {}

    void list(std::function<void(const core::JobCgroupList&)> answer) override;

  private:
    Worker::Post post_;
    std::filesystem::path root_;
    std::optional<Worker> worker_; // last: it uses the other members until it is destroyed
};

} // namespace genv::service
