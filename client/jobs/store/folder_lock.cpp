// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/store/folder_lock.hpp"

#include "client/jobs/model/job_error.hpp"
#include "core/base/text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

namespace genv::jobs {

namespace {

// Machines that were cloned share an id, so the name of the machine is part of it.
std::string ownName() {
    std::array<char, HOST_NAME_MAX + 1> host{};
    ::gethostname(host.data(), host.size() - 1);
    return fmt::format("PID {} on {}", ::getpid(), host.data());
}

std::string readName(int file) {
    std::array<char, 256> text{};
    const ssize_t size = ::pread(file, text.data(), text.size(), 0);
    return core::escaped({text.data(), size > 0 ? static_cast<std::size_t>(size) : 0});
}

} // namespace

// A lock of the open file: unlike the others it is not lost when any descriptor of it is closed,
// and it works on NFS.
JobsLock::JobsLock(const std::filesystem::path& path)
    : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600)) {
    const std::string shown = core::escaped(path.native(), 512);
    if (!file_.isOpen())
        fail(JobErrorCode::StorageFailed, "cannot open {}: {}", shown, std::strerror(errno));
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (::fcntl(file_.get(), F_OFD_SETLK, &lock) < 0) {
        if (errno != EAGAIN && errno != EACCES)
            fail(JobErrorCode::StorageFailed, "cannot lock {}: {}", shown, std::strerror(errno));
        fail(JobErrorCode::StorageFailed, "another genv-jobs ({}) has locked {}: stop it first",
             readName(file_.get()), shown);
    }
    // Only for that message: a full disk must not keep the jobs from running.
    const std::string name = ownName();
    if (::ftruncate(file_.get(), 0) == 0)
        (void)client::writeAll(file_.get(), name);
}

} // namespace genv::jobs
