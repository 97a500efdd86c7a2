// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/files/durable_file.hpp"

#include "client/descriptor_functions.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace genv::messages {

namespace {

using client::Descriptor;
namespace fs = std::filesystem;

[[noreturn]] void failed(const char* what, const fs::path& path) {
    throw std::system_error(errno, std::generic_category(),
                            std::string("cannot ") + what + ' ' + path.native());
}

void syncFolder(const fs::path& folder) {
    const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened.isOpen() || ::fsync(opened.get()) < 0)
        failed("write", folder);
}

} // namespace

void createFolder(const fs::path& folder) {
    fs::path path;
    for (const fs::path& part : folder) {
        path /= part;
        if (!fs::exists(path) && ::mkdir(path.c_str(), 0700) < 0 && errno != EEXIST)
            failed("create", path);
    }
    if (::chmod(folder.c_str(), 0700) < 0)
        failed("create", folder);
}

void writeDurably(const fs::path& file, std::string_view text) {
    const fs::path unfinished = file.native() + ".new";
    ::unlink(unfinished.c_str()); // of an earlier crash
    const Descriptor opened(
        ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!opened.isOpen() || !client::writeAll(opened.get(), text) || ::fsync(opened.get()) < 0)
        failed("write", unfinished);
    if (::rename(unfinished.c_str(), file.c_str()) < 0)
        failed("write", file);
    syncFolder(file.parent_path());
}

void removeDurably(const fs::path& file) {
    if (::unlink(file.c_str()) < 0 && errno != ENOENT)
        failed("remove", file);
    syncFolder(file.parent_path());
}

std::optional<std::string> readSmall(const fs::path& file, std::size_t max) {
    const Descriptor opened(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!opened.isOpen() || ::fstat(opened.get(), &status) < 0 || !S_ISREG(status.st_mode) ||
        static_cast<std::size_t>(status.st_size) > max)
        return std::nullopt;
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t length = 0;
    while (length < text.size()) {
        const ssize_t count = ::read(opened.get(), text.data() + length, text.size() - length);
        if (count < 0 && errno != EINTR)
            return std::nullopt;
        if (count == 0)
            break;
        length += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    text.resize(length);
    return text;
}

} // namespace genv::messages
