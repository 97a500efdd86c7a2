// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/folder.hpp"

#include "client/descriptor_functions.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace genv::monitor {

namespace {

// Links of the system are followed, because systemd creates one for a service with its own user.
bool isForeignLink(const std::filesystem::path& path) {
    struct stat status {};
    return lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode) && status.st_uid != 0 &&
           status.st_uid != geteuid();
}

int opened(const std::filesystem::path& path) {
    std::error_code ignored; // open() reports the error
    std::filesystem::create_directories(path, ignored);
    if (isForeignLink(path)) {
        errno = ELOOP;
        return -1;
    }
    return open(path.c_str(), O_DIRECTORY | O_RDONLY | O_CLOEXEC);
}

} // namespace

Folder::Folder(const std::filesystem::path& path) : Folder(path, opened(path)) {}

Folder::Folder(std::filesystem::path path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {
    if (descriptor_ < 0)
        failed(path_);
    try {
        requireOwn();
    } catch (...) {
        close(descriptor_);
        throw;
    }
}

Folder::~Folder() {
    close(descriptor_);
}

void Folder::requireOwn() const {
    struct stat status {};
    if (fstat(descriptor_, &status) < 0)
        failed(path_);
    if (status.st_uid != geteuid())
        throw std::runtime_error(
            fmt::format("folder {} belongs to another user; choose your own with --config-dir",
                        path_.native()));
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        throw std::runtime_error(fmt::format("other users may write to folder {}; choose another "
                                             "with --config-dir, or run \"chmod go-w\" on it",
                                             path_.native()));
}

Folder Folder::below(const char* name) const {
    constexpr mode_t ownerOnly = 0700;
    if (mkdirat(descriptor_, name, ownerOnly) < 0 && errno != EEXIST)
        failed(path_ / name);
    return {path_ / name,
            openat(descriptor_, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
}

void Folder::write(const char* name, std::string_view text) const {
    constexpr mode_t ownerOnly = 0600;
    const std::string temporary = fmt::format(".{}.{}", name, getpid());
    unlinkat(descriptor_, temporary.c_str(), 0); // left by a dead process with the same PID
    const int file = openat(descriptor_, temporary.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, ownerOnly);
    if (file < 0)
        failed(path_ / name);
    bool isDone = client::writeAll(file, text);
    isDone = close(file) == 0 && isDone &&
             renameat(descriptor_, temporary.c_str(), descriptor_, name) == 0;
    if (isDone)
        return;
    const int error = errno;
    unlinkat(descriptor_, temporary.c_str(), 0);
    errno = error;
    failed(path_ / name);
}

void Folder::failed(const std::filesystem::path& what) const {
    throw std::runtime_error(
        fmt::format("cannot write {}: {}", what.native(), std::strerror(errno)));
}

} // namespace genv::monitor
