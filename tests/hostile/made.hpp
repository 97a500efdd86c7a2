// SPDX-License-Identifier: LGPL-2.1-or-later
// A process in any state that a test needs: with any uids, in any namespaces.
#pragma once

#include "core/base/parent_end.hpp"
#include "core/base/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>

namespace genv::tests {

// A child that runs a function. The function reports a number when it is ready, and then waits to
// be killed.
class Made {
  public:
    using Report = std::function<void(long)>;

    explicit Made(const std::function<void(const Report&)>& body) {
        int ready[2];
        if (::pipe2(ready, O_CLOEXEC) != 0)
            throw std::runtime_error("pipe");
        const pid_t parent = ::getpid();
        pid_ = ::fork();
        if (pid_ == 0) {
            if (!core::endWithParent(parent, SIGKILL))
                ::_exit(1);
            body([&](long number) {
                if (::write(ready[1], &number, sizeof(number)) != sizeof(number))
                    ::_exit(1);
            });
            for (;;)
                ::pause();
        }
        ::close(ready[1]);
        if (::read(ready[0], &reported_, sizeof(reported_)) != sizeof(reported_))
            reported_ = -1;
        ::close(ready[0]);
    }
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;
    ~Made() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    [[nodiscard]] core::Pid pid() const { return static_cast<core::Pid>(pid_); }
    [[nodiscard]] long reported() const { return reported_; }

  private:
    pid_t pid_ = -1;
    long reported_ = -1;
};

} // namespace genv::tests
