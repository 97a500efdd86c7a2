// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/file_store.hpp"

#include "core/error.hpp"
#include "core/text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>

namespace genv::service {

namespace {

constexpr std::string_view suffix = ".json";
constexpr std::string_view temporarySuffix = ".new";

bool endsWith(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

[[noreturn]] void failStorage(int error) {
    core::fail(core::ErrorCode::StorageFailed,
               "the state could not be written: {}; nothing was changed",
               std::generic_category().message(error));
}

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

// A regular file's text; nothing, and why, for anything else.
std::optional<std::string> readWhole(int directory, const std::string& name, std::string& why) {
    const Descriptor file(
        ::openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};
    if (file.get() < 0 || ::fstat(file.get(), &status) < 0) {
        why = std::generic_category().message(errno);
        return std::nullopt;
    }
    if (!S_ISREG(status.st_mode) ||
        status.st_size > static_cast<off_t>(FileStore::largestDocument)) {
        why = "it is no file, or too large";
        return std::nullopt;
    }
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t length = 0;
    while (length < text.size()) {
        const ssize_t count = ::read(file.get(), text.data() + length, text.size() - length);
        if (count <= 0)
            break;
        length += static_cast<std::size_t>(count);
    }
    text.resize(length);
    return text;
}

} // namespace

FileStore::FileStore(const std::filesystem::path& runtime, core::Log& log)
    : broken_(runtime / "broken"), log_(log) {
    const std::filesystem::path path = runtime / "environments";
    if (::mkdir(path.c_str(), 0700) < 0 && errno != EEXIST)
        throw std::system_error(errno, std::generic_category(), path.string());
    directory_ = Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (directory_.get() < 0)
        throw std::system_error(errno, std::generic_category(), path.string());
}

std::string FileStore::nameOf(const core::EnvironmentId& id) const {
    char* encoded = nullptr;
    if (sd_bus_path_encode("/", id.c_str(), &encoded) < 0)
        throw std::bad_alloc(); // the prefix is valid, so there is no other failure
    const std::unique_ptr<char, decltype(&std::free)> path(encoded, &std::free);
    return std::string(path.get() + 1) + std::string(suffix);
}

void FileStore::write(const core::EnvironmentId& id, const std::string& document) {
    const std::string name = nameOf(id);
    const std::string temporary = name + std::string(temporarySuffix);
    int error = 0;
    {
        const Descriptor file(::openat(directory_.get(), temporary.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                                       0600));
        if (file.get() < 0 || !writeWhole(file.get(), document))
            error = errno;
    }
    if (error == 0 &&
        ::renameat(directory_.get(), temporary.c_str(), directory_.get(), name.c_str()) < 0)
        error = errno;
    if (error != 0) {
        ::unlinkat(directory_.get(), temporary.c_str(), 0);
        failStorage(error);
    }
}

void FileStore::remove(const core::EnvironmentId& id) {
    if (::unlinkat(directory_.get(), nameOf(id).c_str(), 0) < 0 && errno != ENOENT)
        failStorage(errno);
}

std::vector<core::Store::Found> FileStore::readAll() {
    std::vector<Found> documents;
    std::vector<std::pair<std::string, std::string>> unreadable;
    // The descriptor's own path, since the directory must be the one that is written to.
    for (const auto& entry :
         std::filesystem::directory_iterator(fmt::format("/proc/self/fd/{}", directory_.get()))) {
        const std::string name = entry.path().filename();
        if (endsWith(name, temporarySuffix)) {
            ::unlinkat(directory_.get(), name.c_str(), 0); // a write that a crash cut short
            continue;
        }
        std::string why = "it is none of this service's";
        auto text = endsWith(name, suffix) ? readWhole(directory_.get(), name, why) : std::nullopt;
        if (text)
            documents.push_back({name, std::move(*text)});
        else
            unreadable.emplace_back(name, why);
    }
    for (const auto& [name, why] : unreadable)
        setAside(name, why);
    return documents;
}

void FileStore::setAside(const std::string& name, const std::string& why) {
    ::mkdir(broken_.c_str(), 0700);
    const std::string target = (broken_ / name).string();
    const bool moved = ::renameat(directory_.get(), name.c_str(), AT_FDCWD, target.c_str()) == 0;
    log_.error("set the state document \"{}\" aside{}: {}", core::escaped(name),
               moved ? " in " + broken_.string() : " in place", core::escaped(why, 256));
}

} // namespace genv::service
