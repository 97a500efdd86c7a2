// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/state/file_store.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "service/state/label.hpp"
#include "service/state/own_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
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

bool endsWith(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

[[noreturn]] void failStorage(int error) {
    core::fail(core::ErrorCode::StorageFailed,
               "the state could not be written: {}; nothing was changed",
               std::generic_category().message(error));
}

} // namespace

FileStore::FileStore(const std::filesystem::path& runtime, core::Log& log)
    : path_(runtime / "environments"), broken_(runtime / "broken"), log_(log) {
    if (const int error = open(); error != 0)
        throw std::system_error(error, std::generic_category(), path_.string());
}

int FileStore::open() {
    if (::mkdir(path_.c_str(), 0700) < 0 && errno == ENOENT) {
        // Every user must be able to traverse it, whatever the umask.
        if (::mkdir(path_.parent_path().c_str(), 0700) == 0)
            ::chmod(path_.parent_path().c_str(), 0755);
        ::mkdir(path_.c_str(), 0700);
    }
    core::Descriptor opened(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (opened.get() < 0)
        return errno;
    directory_ = std::move(opened);
    return 0;
}

bool FileStore::restoreFolder() {
    struct stat status {};
    if (::fstat(directory_.get(), &status) < 0 || status.st_nlink > 0 || open() != 0)
        return false;
    log_.error("{} was removed; it is made again, with all that was in it", path_.string());
    if (folderRestored_)
        folderRestored_();
    return true;
}

std::string FileStore::nameOf(const core::EnvironmentId& id) const {
    return labelOf(id) + std::string(suffix);
}

void FileStore::write(const core::EnvironmentId& id, const std::string& document) {
    int error = replace(nameOf(id), document);
    if (error == ENOENT && restoreFolder())
        error = replace(nameOf(id), document);
    if (error != 0)
        failStorage(error);
}

// Returns 0 or an errno value. In the latter case, the old document stays in force.
int FileStore::replace(const std::string& name, const std::string& document) {
    return replaceOwnFile(directory_.get(), name, document);
}

void FileStore::remove(const core::EnvironmentId& id) {
    const std::string name = nameOf(id);
    if (::unlinkat(directory_.get(), name.c_str(), 0) < 0 && errno != ENOENT)
        failStorage(errno);
    // Remove the temporary file of a failed write, which may have been left behind.
    ::unlinkat(directory_.get(), (name + std::string(temporarySuffix)).c_str(), 0);
}

std::vector<core::Store::Found> FileStore::readAll() {
    std::vector<Found> documents;
    std::vector<std::pair<std::string, std::string>> unreadable;
    // Use the path of the descriptor, because this must be the directory to which documents are
    // written.
    for (const auto& entry :
         std::filesystem::directory_iterator(fmt::format("/proc/self/fd/{}", directory_.get()))) {
        const std::string name = entry.path().filename();
        if (endsWith(name, temporarySuffix)) {
            ::unlinkat(directory_.get(), name.c_str(), 0); // left by an interrupted write
            continue;
        }
        std::string why = "not a genvd state file";
        auto text = endsWith(name, suffix)
                        ? readOwnFile(directory_.get(), name, largestDocument, why)
                        : std::nullopt;
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
