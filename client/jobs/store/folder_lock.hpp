// SPDX-License-Identifier: LGPL-2.1-or-later
// One genv-jobs at a time for a folder of jobs.
#pragma once

#include "client/descriptor_functions.hpp"

#include <filesystem>

namespace genv::jobs {

/// Holds a lock file until it is destroyed or its process ends, however that happens.
class JobsLock {
  public:
    /// Throws JobError (StorageFailed), which names another process that has the lock.
    explicit JobsLock(const std::filesystem::path& path);

  private:
    client::Descriptor file_;
};

} // namespace genv::jobs
