// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/state/own_file.hpp"

#include "core/base/descriptor.hpp"
#include "service/posix/shortage.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace genv::service {

namespace {

bool writeWhole(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(fd, text.data(), text.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return false;
        text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

// `isOnDisk`: waits until the disk has the text, before the new file replaces the old one.
int replace(int directory, const std::string& name, std::string_view text, bool isOnDisk) {
    const std::string temporary = name + std::string(temporarySuffix);
    int error = 0;
    {
        const core::Descriptor file(::openat(directory, temporary.c_str(),
                                             O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                                             0600));
        if (file.get() < 0 || !writeWhole(file.get(), text) ||
            (isOnDisk && ::fsync(file.get()) < 0))
            error = errno;
    }
    if (error == 0 && ::renameat(directory, temporary.c_str(), directory, name.c_str()) < 0)
        error = errno;
    if (error != 0)
        ::unlinkat(directory, temporary.c_str(), 0);
    return error;
}

} // namespace

std::optional<std::string> readOwnFile(int directory, const std::string& name, std::size_t max,
                                       std::string& why) {
    const core::Descriptor file(
        ::openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};
    if (file.get() < 0 || ::fstat(file.get(), &status) < 0) {
        if (isShortage(errno))
            throw std::system_error(errno, std::generic_category(), "reading the state");
        why = std::generic_category().message(errno);
        return std::nullopt;
    }
    if (!S_ISREG(status.st_mode) || status.st_size > static_cast<off_t>(max)) {
        why = "not a regular file, or too large";
        return std::nullopt;
    }
    if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        why = "other users could have written it";
        return std::nullopt;
    }
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t length = 0;
    while (length < text.size()) {
        const ssize_t count = ::read(file.get(), text.data() + length, text.size() - length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            if (isShortage(errno))
                throw std::system_error(errno, std::generic_category(), "reading the state");
            why = std::generic_category().message(errno);
            return std::nullopt;
        }
        if (count == 0)
            break;
        length += static_cast<std::size_t>(count);
    }
    text.resize(length);
    return text;
}

int replaceOwnFile(int directory, const std::string& name, std::string_view text) {
    return replace(directory, name, text, false);
}

int replaceOwnFileOnDisk(int directory, const std::string& name, std::string_view text) {
    return replace(directory, name, text, true);
}

} // namespace genv::service
