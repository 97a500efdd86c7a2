// SPDX-License-Identifier: LGPL-2.1-or-later
// A file of a process in /proc that never answers, as its user can make it. Here a FIFO without a
// writer is mounted over it. It blocks every process that opens it, and a signal can end the wait,
// as with real ones. Needs root and a mount namespace of the test's own.
#pragma once

#include "core/base/process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace genv::tests {

class HungEntry {
  public:
    HungEntry(core::Pid pid, const std::string& file)
        : path_("/proc/" + std::to_string(pid) + "/" + file) {
        std::string folder = "/tmp/genv-hung-XXXXXX";
        if (::mkdtemp(folder.data()) == nullptr)
            fail("mkdtemp");
        const std::string fifo = folder + "/fifo";
        if (::mkfifo(fifo.c_str(), 0644) < 0 ||
            ::mount(fifo.c_str(), path_.c_str(), nullptr, MS_BIND, nullptr) < 0)
            fail("a FIFO in /proc");
        ::unlink(fifo.c_str());
        ::rmdir(folder.c_str());
    }
    HungEntry(const HungEntry&) = delete;
    HungEntry& operator=(const HungEntry&) = delete;
    ~HungEntry() { ::umount2(path_.c_str(), MNT_DETACH); }

    /// Gives this process and its children a mount namespace of their own.
    static bool isolate() {
        return ::unshare(CLONE_NEWNS) == 0 &&
               ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    }

  private:
    [[noreturn]] static void fail(const char* what) {
        throw std::system_error(errno, std::generic_category(), what);
    }

    std::string path_;
};

} // namespace genv::tests
