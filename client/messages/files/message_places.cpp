// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/files/message_places.hpp"

#include "client/jobs/files/places.hpp"
#include "client/messages/files/trusted_file.hpp"
#include "client/messages/model/message_event.hpp"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <stdexcept>

namespace genv::messages {

namespace {

constexpr std::size_t maxConfiguration = std::size_t{64} << 10U;

// The specification of the base folders says that a relative path is ignored.
bool isAbsolute(const char* path) {
    return path != nullptr && *path == '/';
}

} // namespace

std::filesystem::path configurationFile() {
    const char* const folder = std::getenv("XDG_CONFIG_HOME");
    if (isAbsolute(folder))
        return std::filesystem::path(folder) / "genv/notify.conf";
    const char* const home = std::getenv("HOME");
    if (!isAbsolute(home))
        throw std::runtime_error("messages need a home: HOME is not set to an absolute path");
    return std::filesystem::path(home) / ".config/genv/notify.conf";
}

std::optional<ReadConfiguration> readConfiguration() {
    const std::filesystem::path path = configurationFile();
    const char* const home = std::getenv("HOME");
    const auto file = readTrusted(path, isAbsolute(home) ? home : "", maxConfiguration);
    if (!file)
        return std::nullopt;
    return ReadConfiguration{parseConfiguration(file->text, path.native()), file->isPrivate};
}

std::filesystem::path stateFolder() {
    const std::filesystem::path ofJobs = jobs::places().folder;
    return ofJobs.parent_path().parent_path() / "messages" / ofJobs.filename();
}

std::filesystem::path spoolFolder(Channel channel) {
    return stateFolder() / wordOf(channel);
}

std::string machineName() {
    std::array<char, HOST_NAME_MAX + 1> name{};
    ::gethostname(name.data(), name.size() - 1);
    return boundedName(name.data());
}

} // namespace genv::messages
