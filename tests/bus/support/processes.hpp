// SPDX-License-Identifier: LGPL-2.1-or-later
// Processes of other users: shells that keep environments alive, and programs that the simulated
// driver lists as users of GPUs. All of them end with the test.
#pragma once

#include "core/base/process.hpp"

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::tests {

/// Processes with this name count as compute processes on every simulated device.
inline constexpr const char* computeProcessName = "gpu-program";

struct ProcessOptions {
    core::Uid uid = 0;
    bool compute = false; ///< has the process name that the simulated driver looks for
    bool ignoresSigterm = false;
    bool hasChild = false; ///< has a child of the same kind; the child is `compute` instead
    std::map<std::string, std::string> environment{}; ///< as shown in /proc/PID/environ
    std::string jupyterKernel{}; ///< has this Jupyter kernel's connection file on its command line
};

/// A process that waits until it is killed.
class UserProcess {
  public:
    explicit UserProcess(const ProcessOptions& options);
    explicit UserProcess(core::Uid uid) : UserProcess(ProcessOptions{.uid = uid}) {}
    UserProcess(const UserProcess&) = delete;
    UserProcess& operator=(const UserProcess&) = delete;
    ~UserProcess();

    [[nodiscard]] core::Pid pid() const { return static_cast<core::Pid>(pid_); }
    [[nodiscard]] core::Pid child() const { return static_cast<core::Pid>(child_); }
    void kill(int signal) const;
    /// Waits for the end of the process. Returns the signal that ended it, or 0.
    int wait();
    /// Returns whether the process has ended, without waiting.
    [[nodiscard]] bool hasEnded();

  private:
    pid_t pid_ = -1;
    pid_t child_ = -1;
    std::optional<int> status_;
};

/// The result of a program that ran as a user: its exit status and its output.
struct Finished {
    int status = -1;
    std::string output;
};
Finished runAs(core::Uid uid, const std::vector<std::string>& command);

} // namespace genv::tests
