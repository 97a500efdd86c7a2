// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/common/files.hpp"

#include "client/descriptor_functions.hpp"
#include "client/genvctl/common/exit_status.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace genv::ctl {

namespace {

[[noreturn]] void failed(const std::filesystem::path& file, const char* why, int error) {
    throw Failure(ExitStatus::Failed,
                  fmt::format("{} {}: {}", file.native(), why, std::strerror(error)));
}

} // namespace

void throwExisting(const std::filesystem::path& file) {
    throw Failure(ExitStatus::Failed, fmt::format("{} exists: nothing was written", file.native()),
                  "--force replaces it.");
}

void writeFile(const std::filesystem::path& file, std::string_view text, mode_t mode,
               Existing existing) {
    std::string temporary = file.native() + ".XXXXXX";
    const client::Descriptor descriptor(mkostemp(temporary.data(), O_CLOEXEC));
    if (descriptor.get() < 0)
        failed(file, "cannot be saved", errno);
    const bool isWritten =
        client::writeAll(descriptor.get(), text) && fchmod(descriptor.get(), mode) == 0;
    // A link fails if the name exists, even as a symbolic link.
    const bool isPlaced =
        isWritten && (existing == Existing::Replaced ? rename(temporary.c_str(), file.c_str())
                                                     : link(temporary.c_str(), file.c_str())) == 0;
    const int error = errno;
    if (!isPlaced || existing == Existing::Refused)
        unlink(temporary.c_str());
    if (!isPlaced && error == EEXIST && existing == Existing::Refused)
        throwExisting(file);
    if (!isPlaced)
        failed(file, "cannot be saved", error);
}

void replaceFile(const std::filesystem::path& file, std::string_view text) {
    const mode_t mask = umask(0);
    umask(mask);
    writeFile(file, text, 0666 & ~mask, Existing::Replaced);
}

std::string readFile(const std::filesystem::path& file, std::size_t maxSize, Links links) {
    // A pipe or terminal in place of the file must not block this call.
    const client::Descriptor descriptor(
        open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
                               (links == Links::Refused ? O_NOFOLLOW : 0)));
    struct stat status {};
    if (descriptor.get() < 0 || fstat(descriptor.get(), &status) < 0)
        failed(file, "cannot be read", errno);
    if (!S_ISREG(status.st_mode))
        failed(file, "cannot be read", EINVAL);
    std::string text(maxSize + 1, '\0');
    std::size_t length = 0;
    while (length < text.size()) {
        const ssize_t count = read(descriptor.get(), text.data() + length, text.size() - length);
        if (count < 0)
            failed(file, "cannot be read", errno);
        if (count == 0)
            break;
        length += static_cast<std::size_t>(count);
    }
    if (length > maxSize)
        failed(file, "cannot be read", EFBIG);
    text.resize(length);
    return text;
}

} // namespace genv::ctl
