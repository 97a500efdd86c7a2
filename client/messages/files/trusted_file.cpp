// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/files/trusted_file.hpp"

#include "client/descriptor_functions.hpp"
#include "core/base/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <list>
#include <string_view>

namespace genv::messages {

namespace {

namespace fs = std::filesystem;
using client::Descriptor;

// As the kernel's own limit.
constexpr int maxLinks = 40;

std::string shown(const fs::path& path) {
    return core::escaped(path.native(), 1024);
}

[[noreturn]] void failed(const fs::path& path) {
    throw UntrustedFile(fmt::format("cannot read {}: {}", shown(path), std::strerror(errno)));
}

void requireOwn(const fs::path& path, const struct stat& status) {
    if (status.st_uid != ::geteuid() && status.st_uid != 0)
        throw UntrustedFile(
            fmt::format("{} belongs to another user: expected yours or root's", shown(path)));
}

// Returns whether a group is this user's private one, which Debian makes for each user: with it, a
// umask of 002 makes files that only the user can write.
bool isPrivateGroup(gid_t gid) {
    const passwd* user = ::getpwuid(::geteuid());
    const group* found = ::getgrgid(gid);
    if (user == nullptr || found == nullptr || user->pw_gid != gid)
        return false;
    const std::string_view name = user->pw_name;
    if (name != found->gr_name)
        return false;
    for (char** member = found->gr_mem; *member != nullptr; ++member) {
        if (name != *member)
            return false;
    }
    return true;
}

// With an access control list, the bits of the group are the mask, the most that the list grants
// anybody.
bool hasAccessList(const Descriptor& opened) {
    return ::getxattr(fmt::format("/proc/self/fd/{}", opened.get()).c_str(),
                      "system.posix_acl_access", nullptr, 0) >= 0;
}

// The mode of a symbolic link means nothing.
void requireTrusted(const fs::path& path, const struct stat& status, const Descriptor& opened) {
    requireOwn(path, status);
    const bool isOfGroup = (status.st_mode & S_IWGRP) != 0 &&
                           (!isPrivateGroup(status.st_gid) || hasAccessList(opened));
    if (isOfGroup || (status.st_mode & S_IWOTH) != 0)
        throw UntrustedFile(
            fmt::format("others can write {0}: \"chmod go-w {0}\" makes it yours", shown(path)));
}

/// Walks along a path, from a home or the root, and opens each folder from the one before, so that
/// the folder in use is the one that was checked.
class Walk {
  public:
    Walk(const fs::path& path, const fs::path& home) {
        const fs::path below = path.lexically_relative(home);
        const bool isBelow = home.is_absolute() && !below.empty() && *below.begin() != "..";
        begin(isBelow ? home : fs::path("/"));
        const fs::path& rest = isBelow ? below : path;
        parts_.assign(rest.begin(), rest.end());
    }

    /// Returns the opened file, or a closed descriptor if it does not exist.
    Descriptor open() {
        while (!parts_.empty()) {
            const fs::path part = parts_.front();
            parts_.pop_front();
            if (part == "/")
                begin(part);
            else if (!part.empty() && part != "." && !enter(part))
                return Descriptor();
        }
        return std::move(here_);
    }

  private:
    void begin(const fs::path& folder) {
        shown_ = folder;
        here_ = Descriptor(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        check();
    }

    void check() const {
        struct stat status {};
        if (!here_.isOpen() || ::fstat(here_.get(), &status) < 0)
            failed(shown_);
        requireTrusted(shown_, status, here_);
    }

    // Returns whether the part is there.
    bool enter(const fs::path& part) {
        const fs::path next = shown_ / part;
        Descriptor entry(::openat(here_.get(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        if (!entry.isOpen() && errno == ENOENT)
            return false;
        struct stat status {};
        if (!entry.isOpen() || ::fstat(entry.get(), &status) < 0)
            failed(next);
        if (S_ISLNK(status.st_mode)) {
            requireOwn(next, status);
            follow(next, entry);
            return true;
        }
        here_ = std::move(entry);
        shown_ = next;
        check();
        return true;
    }

    // Puts the parts of the link's target before the rest of the path.
    void follow(const fs::path& path, const Descriptor& link) {
        if (++links_ > maxLinks)
            throw UntrustedFile(fmt::format("too many symbolic links: {}", shown(path)));
        std::array<char, PATH_MAX> target{};
        const ssize_t size = ::readlinkat(link.get(), "", target.data(), target.size());
        if (size <= 0 || static_cast<std::size_t>(size) == target.size())
            failed(path);
        const fs::path to(std::string_view(target.data(), static_cast<std::size_t>(size)));
        parts_.insert(parts_.begin(), to.begin(), to.end());
    }

    std::list<fs::path> parts_;
    fs::path shown_;
    Descriptor here_;
    int links_ = 0;
};

std::string readAll(const fs::path& path, const Descriptor& file, std::size_t max) {
    std::string text(max + 1, '\0');
    std::size_t length = 0;
    while (length < text.size()) {
        const ssize_t count = ::read(file.get(), text.data() + length, text.size() - length);
        if (count < 0 && errno != EINTR)
            failed(path);
        if (count == 0)
            break;
        length += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    if (length > max)
        throw UntrustedFile(
            fmt::format("{} is too large: expected at most {} bytes", shown(path), max));
    text.resize(length);
    return text;
}

} // namespace

std::optional<TrustedFile> readTrusted(const fs::path& path, const fs::path& home,
                                       std::size_t max) {
    const Descriptor found = Walk(path, home).open();
    if (!found.isOpen())
        return std::nullopt;
    struct stat status {};
    if (::fstat(found.get(), &status) < 0)
        failed(path);
    if (!S_ISREG(status.st_mode))
        throw UntrustedFile(fmt::format("{} is not a regular file", shown(path)));
    const Descriptor file(::open(fmt::format("/proc/self/fd/{}", found.get()).c_str(),
                                 O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file.isOpen())
        failed(path);
    return TrustedFile{readAll(path, file, max), (status.st_mode & (S_IRGRP | S_IROTH)) == 0};
}

} // namespace genv::messages
