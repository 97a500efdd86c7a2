// SPDX-License-Identifier: LGPL-2.1-or-later
// Processes of other users: shells that keep environments alive, and programs that the simulated
// driver takes for users of GPUs. All end with the test.
#pragma once

#include "core/process.hpp"

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::tests {

/// Processes of this name count as compute processes on every simulated device.
inline constexpr const char* computeProcessName = "gpu-program";

struct ProcessOptions {
    core::Uid uid = 0;
    bool compute = false; ///< has the name that the simulated driver looks for
    bool ignoresSigterm = false;
    bool hasChild = false; ///< has a child of the same kind, which is `compute` instead of itself
    std::map<std::string, std::string> environment{}; ///< as /proc/PID/environ shows it
    std::string kernel{}; ///< was started with the connection file of this Jupyter kernel
};

/// A process that waits until it is ended.
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
    /// Waits for its end; the signal that ended it, or 0.
    int wait();
    /// Whether it has ended; does not wait.
    [[nodiscard]] bool hasEnded();

  private:
    pid_t pid_ = -1;
    pid_t child_ = -1;
    std::optional<int> status_;
};

/// Runs a program as a user and waits for it; its exit status and what it wrote.
struct Finished {
    int status = -1;
    std::string output;
};
Finished runAs(core::Uid uid, const std::vector<std::string>& command);

} // namespace genv::tests
