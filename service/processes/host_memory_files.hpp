// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: reads the machine's memory, the limits of control groups, and the resident memory of
// processes. The files are the kernel's, and no user can block a reader of them. They are read on a
// worker nevertheless, which starts with the first question.
#pragma once

#include "core/ports/host_memory.hpp"
#include "service/loop/worker.hpp"

#include <filesystem>
#include <optional>

namespace genv::service {

/// The roots of the files, for tests.
struct HostMemoryRoots {
    std::filesystem::path proc = "/proc";
    std::filesystem::path cgroup = "/sys/fs/cgroup";
};

/// Reads the memory for these processes. Blocks, so call it on the worker.
core::HostMemoryReading readHostMemory(const HostMemoryRoots& roots,
                                       const std::vector<core::ProcessIdentity>& processes);

class HostMemoryFiles : public core::HostMemory {
  public:
    explicit HostMemoryFiles(Worker::Post post, HostMemoryRoots roots = {})
        : post_(std::move(post)), roots_(std::move(roots)) {}

    void read(const std::vector<core::ProcessIdentity>& processes,
              std::function<void(const core::HostMemoryReading&)> answer) override;

  private:
    Worker::Post post_;
    HostMemoryRoots roots_;
    std::optional<Worker> worker_; // last: it uses the other members until it is destroyed
};

} // namespace genv::service
