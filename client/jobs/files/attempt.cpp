// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/files/attempt.hpp"

#include "client/descriptor_functions.hpp"
#include "client/jobs/files/attempt_text.hpp"
#include "client/jobs/model/job_error.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace genv::jobs {

namespace {

using client::Descriptor;

constexpr std::string_view ready = ".ready";
constexpr std::string_view started = ".started";
constexpr std::string_view ended = ".ended";
constexpr std::string_view written = ".written";
constexpr std::string_view reserved = ".reserved";
constexpr std::array suffixes{ready, started, ended, written, reserved};

// The kernel accepts no longer command and variables than 6 MiB.
constexpr std::size_t maxSize = std::size_t{16} << 20;
// An ending's text is shorter: its reason is a sentence, of which the rest is cut.
constexpr std::size_t endingSize = 2048;
constexpr std::size_t maxReasonSize = endingSize / 2;

constexpr int fileFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

std::string fileOf(const AttemptName& attempt, std::string_view suffix) {
    return textOf(attempt).append(suffix);
}

[[noreturn]] void failed(const char* what, const std::string& file) {
    fail(JobErrorCode::StorageFailed, "{} {}: {}", what, file, std::strerror(errno));
}

Descriptor openFolder(const std::filesystem::path& folder) {
    Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!opened.isOpen())
        failed("cannot open", folder.native());
    return opened;
}

void sync(const Descriptor& file, const std::string& name) {
    if (::fsync(file.get()) < 0)
        failed("cannot write", name);
}

bool exists(const Descriptor& folder, const std::string& name) {
    struct stat status {};
    if (::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
        return true;
    if (errno != ENOENT)
        failed("cannot read", name);
    return false;
}

bool hasBegun(const Descriptor& folder, const AttemptName& attempt) {
    return exists(folder, fileOf(attempt, started)) || exists(folder, fileOf(attempt, ended));
}

// Returns nothing if there is no such file.
std::optional<std::string> contents(const Descriptor& folder, const std::string& name) {
    const Descriptor file(::openat(folder.get(), name.c_str(), O_RDONLY | fileFlags));
    if (!file.isOpen() && errno == ENOENT)
        return std::nullopt;
    struct stat status {};
    if (!file.isOpen() || ::fstat(file.get(), &status) < 0)
        failed("cannot read", name);
    if (!S_ISREG(status.st_mode) || static_cast<std::uint64_t>(status.st_size) > maxSize)
        fail(JobErrorCode::StorageFailed, "invalid file {}: not a regular file, or too large",
             name);
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t length = 0;
    while (length < text.size()) {
        const ssize_t count = ::read(file.get(), text.data() + length, text.size() - length);
        if (count < 0 && errno != EINTR)
            failed("cannot read", name);
        if (count == 0)
            break;
        length += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    }
    text.resize(length);
    return text;
}

/// Where a new file's bytes go before it has its name.
enum class Space { New, Reserved };

// Gives a file its contents: a reader sees all of them or no file, also after a crash.
void place(const Descriptor& folder, const std::string& unfinished, Space space,
           const std::string& name, std::string_view text) {
    const int existing = space == Space::New ? O_TRUNC : 0;
    const Descriptor file(::openat(folder.get(), unfinished.c_str(),
                                   O_WRONLY | O_CREAT | existing | fileFlags, 0600));
    if (!file.isOpen() || !client::writeAll(file.get(), text) ||
        ::ftruncate(file.get(), static_cast<off_t>(text.size())) < 0)
        failed("cannot write", name);
    sync(file, name);
    if (::renameat(folder.get(), unfinished.c_str(), folder.get(), name.c_str()) < 0)
        failed("cannot write", name);
    sync(folder, name);
}

std::optional<AttemptName> attemptOf(std::string_view file) {
    for (const std::string_view suffix : suffixes) {
        if (file.ends_with(suffix))
            return parseAttemptName(file.substr(0, file.size() - suffix.size()));
    }
    return std::nullopt;
}

} // namespace

AttemptFiles::AttemptFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

void AttemptFiles::write(const AttemptName& attempt, const AttemptOrder& order) const {
    const std::string text = encode(order);
    if (text.size() > maxSize)
        fail(JobErrorCode::StorageFailed, "the command and its variables have {} bytes: at most {}",
             text.size(), maxSize);
    const Descriptor folder = openFolder(folder_);
    if (hasBegun(folder, attempt))
        fail(JobErrorCode::StorageFailed, "attempt {} began before", textOf(attempt));
    place(folder, fileOf(attempt, written), Space::New, fileOf(attempt, ready), text);
}

std::optional<AttemptOrder> AttemptFiles::read(const AttemptName& attempt) const {
    const auto text = contents(openFolder(folder_), fileOf(attempt, ready));
    if (!text)
        return std::nullopt;
    return decodeOrder(*text);
}

std::optional<AttemptOrder> AttemptFiles::claim(const AttemptName& attempt) const {
    const Descriptor folder = openFolder(folder_);
    const std::string before = fileOf(attempt, ready);
    const auto text = contents(folder, before);
    if (!text)
        return std::nullopt;
    AttemptOrder order = decodeOrder(*text);
    const std::string mark = fileOf(attempt, started);
    if (::renameat(folder.get(), before.c_str(), folder.get(), mark.c_str()) < 0) {
        if (errno == ENOENT)
            return std::nullopt;
        failed("cannot write", mark);
    }
    sync(folder, mark);
    return order;
}

bool AttemptFiles::revoke(const AttemptName& attempt) const {
    const Descriptor folder = openFolder(folder_);
    const std::string name = fileOf(attempt, ready);
    if (::unlinkat(folder.get(), name.c_str(), 0) < 0) {
        if (errno != ENOENT)
            failed("cannot remove", name);
        return !hasBegun(folder, attempt);
    }
    sync(folder, name);
    return true;
}

bool AttemptFiles::isClaimed(const AttemptName& attempt) const {
    return hasBegun(openFolder(folder_), attempt);
}

void AttemptFiles::reserveEnding(const AttemptName& attempt) const noexcept {
    try {
        const Descriptor folder = openFolder(folder_);
        const Descriptor file(::openat(folder.get(), fileOf(attempt, reserved).c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC | fileFlags, 0600));
        constexpr std::array<char, endingSize> zeros{};
        if (file.isOpen())
            client::writeAll(file.get(), {zeros.data(), zeros.size()});
    } catch (const std::exception&) { // the ending then needs new space
    }
}

void AttemptFiles::writeEnding(const AttemptName& attempt, const AttemptEnding& ending) const {
    AttemptEnding bounded = ending;
    bounded.reason.resize(std::min(bounded.reason.size(), maxReasonSize));
    place(openFolder(folder_), fileOf(attempt, reserved), Space::Reserved, fileOf(attempt, ended),
          encode(bounded));
}

std::optional<AttemptEnding> AttemptFiles::ending(const AttemptName& attempt) const {
    const auto text = contents(openFolder(folder_), fileOf(attempt, ended));
    if (!text)
        return std::nullopt;
    return decodeEnding(*text);
}

// The ready file goes first: an attempt whose other files are gone must not be claimed.
void AttemptFiles::remove(const AttemptName& attempt) const {
    const Descriptor folder = openFolder(folder_);
    for (const std::string_view suffix : suffixes) {
        const std::string name = fileOf(attempt, suffix);
        if (::unlinkat(folder.get(), name.c_str(), 0) < 0 && errno != ENOENT)
            failed("cannot remove", name);
    }
}

std::vector<AttemptName> AttemptFiles::list() const {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(folder_.c_str()), ::closedir);
    if (!folder)
        failed("cannot read", folder_.native());
    std::vector<AttemptName> attempts;
    errno = 0;
    while (const dirent* entry = ::readdir(folder.get())) {
        if (const auto attempt = attemptOf(entry->d_name))
            attempts.push_back(*attempt);
    }
    if (errno != 0)
        failed("cannot read", folder_.native());
    std::sort(attempts.begin(), attempts.end());
    attempts.erase(std::unique(attempts.begin(), attempts.end()), attempts.end());
    return attempts;
}

} // namespace genv::jobs
