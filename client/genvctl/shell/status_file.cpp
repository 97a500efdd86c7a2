// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/shell/status_file.hpp"

#include "core/sentences/granted_sentence.hpp"
#include "dbus/contract/raw_bus.hpp"

#include <unistd.h>

#include <cstdlib>

namespace genv::ctl {

std::string runtimeFolder() {
    const char* folder = std::getenv("GENV_RUNTIME_DIRECTORY");
    return folder != nullptr && *folder != '\0' ? folder : GENV_RUNTIME_FOLDER;
}

std::optional<std::string> statusFile(const std::string& id) {
    std::string path = runtimeFolder() + dbus::raw::encodePath("/shell", id);
    if (access(path.c_str(), R_OK) != 0)
        return std::nullopt;
    return path;
}

std::optional<std::string> firstStatusLine(const std::string& id) {
    const std::optional<std::string> path = statusFile(id);
    return path ? firstLineOf(*path) : std::nullopt;
}

std::optional<StatusHead> statusHead(const std::string& id) {
    const std::optional<std::string> path = statusFile(id);
    std::ifstream file(path.value_or(""));
    std::string first;
    StatusHead head;
    if (!std::getline(file, first) || !std::getline(file, head.devices) || file.eof())
        return std::nullopt;
    head.stamp = first.substr(first.find(' ') + 1);
    return head;
}

std::optional<std::string> lastGrant(const std::string& id) {
    const std::optional<std::string> path = statusFile(id);
    std::optional<std::string> number;
    if (!path)
        return number;
    std::ifstream file(*path);
    for (std::string line; std::getline(file, line);) {
        if (line.find(core::grantedAfter) != std::string::npos)
            number = line.substr(0, line.find(' '));
    }
    return number;
}

} // namespace genv::ctl
