// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/files/places.hpp"

#include "client/descriptor_functions.hpp"
#include "client/jobs/model/job_error.hpp"
#include "core/base/text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace genv::jobs {

namespace {

// The specification of the base folders says that a relative path is ignored.
std::optional<std::filesystem::path> absoluteIn(const char* variable) {
    const char* const value = std::getenv(variable);
    if (value == nullptr || *value != '/')
        return std::nullopt;
    return value;
}

std::filesystem::path stateFolder() {
    if (auto folder = absoluteIn("XDG_STATE_HOME"))
        return *folder;
    if (auto home = absoluteIn("HOME"))
        return *home / ".local/state";
    fail(JobErrorCode::NotSupported, "jobs need a home: HOME is not set to an absolute path");
}

// Also the text "uninitialized", which systemd writes before the first start, is no id.
std::string machineId() {
    constexpr std::size_t length = 32;
    std::array<char, length + 1> text{};
    const client::Descriptor file(::open("/etc/machine-id", O_RDONLY | O_CLOEXEC | O_NOCTTY));
    const ssize_t count = file.isOpen() ? ::read(file.get(), text.data(), text.size()) : -1;
    std::string id(text.data(), count >= static_cast<ssize_t>(length) ? length : 0);
    const bool isHex = std::all_of(id.begin(), id.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    });
    const bool isWhole = count == static_cast<ssize_t>(length) || text.back() == '\n';
    if (id.empty() || !isHex || !isWhole)
        fail(JobErrorCode::NotSupported, "jobs need the machine's id: /etc/machine-id has none "
                                         "(systemd-machine-id-setup writes it)");
    return id;
}

[[noreturn]] void failed(const std::filesystem::path& folder) {
    fail(JobErrorCode::StorageFailed, "cannot create the folder {}: {}",
         core::escaped(folder.native(), 512), std::strerror(errno));
}

// Parents of the home may be closed to this user, or read-only; only what is missing is created.
void createParents(const std::filesystem::path& folder) {
    std::filesystem::path path;
    for (const std::filesystem::path& part : folder) {
        path /= part;
        struct stat status {};
        if (::stat(path.c_str(), &status) < 0 && errno == ENOENT &&
            ::mkdir(path.c_str(), 0700) < 0 && errno != EEXIST)
            failed(path);
    }
}

void createPrivate(const std::filesystem::path& folder) {
    if (::mkdir(folder.c_str(), 0700) < 0 && errno != EEXIST)
        failed(folder);
    const client::Descriptor opened(
        ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    struct stat status {};
    if (!opened.isOpen() || ::fstat(opened.get(), &status) < 0)
        failed(folder);
    if ((status.st_mode & 07777) != 0700 && ::fchmod(opened.get(), 0700) < 0)
        failed(folder);
}

} // namespace

std::filesystem::path machinesFolder() {
    return stateFolder() / "genv" / "jobs";
}

Places places() {
    Places places;
    places.folder = machinesFolder() / machineId();
    places.database = places.folder / "jobs.sqlite";
    places.attempts = places.folder / "attempts";
    places.logs = places.folder / "logs";
    places.unfinished = places.folder / "unfinished";
    places.lock = places.folder / "lock";
    return places;
}

void create(const Places& places) {
    createParents(places.folder.parent_path());
    for (const auto& folder : {places.folder, places.attempts, places.logs})
        createPrivate(folder);
}

} // namespace genv::jobs
