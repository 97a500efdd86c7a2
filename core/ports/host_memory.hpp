// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the host memory that parked processes may take. It is read on a worker thread, and the
// reply comes later.
#pragma once

#include "core/base/bytes.hpp"
#include "core/base/process.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace genv::core {

/// A control group with a limit on memory above a process.
struct LimitedGroup {
    std::string path; ///< below the mount point of the control groups
    Bytes room;       ///< what its processes may still take, without caches of files

    friend bool operator==(const LimitedGroup&, const LimitedGroup&) = default;
};

struct HostMemoryReading {
    std::string failure; ///< why it could not be read; empty if it was
    Bytes total;         ///< MemTotal
    Bytes available;     ///< MemAvailable
    std::map<ProcessIdentity, std::vector<LimitedGroup>> groups{}; ///< of each process
    std::map<ProcessIdentity, Bytes> resident{}; ///< the resident memory of each process
};

class HostMemory {
  public:
    virtual ~HostMemory() = default;

    /// Reads the memory for these processes. `answer` is always called, on the loop and never
    /// before this returns. A process that is gone has no groups.
    virtual void read(const std::vector<ProcessIdentity>& processes,
                      std::function<void(const HostMemoryReading&)> answer) = 0;
};

} // namespace genv::core
