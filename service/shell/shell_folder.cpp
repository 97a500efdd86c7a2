// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/shell/shell_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

namespace genv::service {

namespace {

// The label of an object path has no dot, so no environment's file has this name.
constexpr const char* temporaryName = "new.";

ShellFolder::Contents readWhole(int folder, const char* name) {
    const core::Descriptor file(
        ::openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file.get() < 0)
        return {};
    std::string text;
    std::array<char, 4096> buffer{};
    while (text.size() < ShellFolder::largestFile) {
        const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
        if (count <= 0)
            break;
        text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return {std::move(text), readerOf(file.get())};
}

std::vector<std::string> namesIn(int folder) {
    std::vector<std::string> names;
    std::error_code error;
    const std::filesystem::path own = fmt::format("/proc/self/fd/{}", folder);
    for (const auto& entry : std::filesystem::directory_iterator(own, error))
        names.push_back(entry.path().filename());
    return names;
}

} // namespace

ShellFolder::ShellFolder(std::filesystem::path path, core::Log& log, std::string consequence)
    : path_(std::move(path)), log_(log), consequence_(std::move(consequence)) {}

const std::map<std::string, ShellFolder::Contents>& ShellFolder::open() {
    if (openFolder() == 0) {
        ::unlinkat(folder_.get(), temporaryName, 0); // left by a crash
        for (const std::string& name : namesIn(folder_.get()))
            files_[name] = readWhole(folder_.get(), name.c_str());
    }
    hasBegun_ = true;
    return files_;
}

void ShellFolder::write(const std::string& name, Contents contents) {
    files_[name] = std::move(contents);
    settle(name, makeRight(name));
}

void ShellFolder::remove(const std::string& name) {
    files_.erase(name);
    // If the folder does not exist, neither does the file.
    settle(name, folder_.get() < 0 ? 0 : makeRight(name));
}

bool ShellFolder::retry() {
    const bool isOpen = openFolder() == 0;
    for (const std::string& name : std::set<std::string>(unwritten_)) {
        if (makeRight(name) == 0)
            unwritten_.erase(name);
    }
    return isOpen && unwritten_.empty();
}

// Returns 0 or an errno value.
int ShellFolder::openFolder() {
    struct stat status {};
    const bool wasOpen = folder_.get() >= 0;
    if (wasOpen && ::fstat(folder_.get(), &status) == 0 && status.st_nlink > 0)
        return 0;
    if (::mkdir(path_.c_str(), 0700) < 0 && errno != EEXIST)
        return errno;
    core::Descriptor opened(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    // Every shell must be able to read it, whatever the umask.
    if (opened.get() < 0 || ::fchmod(opened.get(), 0755) < 0)
        return errno;
    folder_ = std::move(opened);
    if (!wasOpen && !hasBegun_)
        return 0;
    // The folder was removed with all its files, or it could not be opened at the start and its
    // files are unknown.
    for (const auto& [name, contents] : files_)
        unwritten_.insert(name);
    for (std::string& name : namesIn(folder_.get()))
        unwritten_.insert(std::move(name));
    if (onUnwritten_)
        onUnwritten_();
    return 0;
}

// Returns 0 or an errno value.
int ShellFolder::makeRight(const std::string& name) {
    const auto wanted = files_.find(name);
    if (wanted == files_.end())
        return ::unlinkat(folder_.get(), name.c_str(), 0) == 0 || errno == ENOENT ? 0 : errno;
    const int error = openFolder();
    return error != 0 ? error : replaceFile(name, wanted->second);
}

// Replaces a file, or creates it, as a whole. Returns 0 or an errno value.
int ShellFolder::replaceFile(const std::string& name, const Contents& contents) {
    const core::Descriptor file(::openat(
        folder_.get(), temporaryName, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file.get() < 0)
        return errno;
    int error = setReader(file.get(), contents.reader);
    if (error == ENOTSUP) {
        // Prompts matter more than what a kernel without access control lists can hide.
        if (!std::exchange(hasWarned_, true))
            log_.warning("the file system of {} has no access control lists; every user can read "
                         "what is written for one",
                         path_.string());
        error = setReader(file.get(), std::nullopt);
    }
    if (error != 0)
        return error;
    const std::string& text = contents.text;
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written != static_cast<ssize_t>(text.size()))
        return written < 0 ? errno : ENOSPC;
    return ::renameat(folder_.get(), temporaryName, folder_.get(), name.c_str()) < 0 ? errno : 0;
}

void ShellFolder::settle(const std::string& name, int error) {
    if (error == 0) {
        unwritten_.erase(name);
        return;
    }
    if (unwritten_.empty())
        log_.warning("{} could not be written: {}; {}", (path_ / name).string(),
                     std::generic_category().message(error), consequence_);
    unwritten_.insert(name);
    if (onUnwritten_)
        onUnwritten_();
}

} // namespace genv::service
