// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/shell/status_file.hpp"

#include "core/granted_sentence.hpp"

#include <systemd/sd-bus.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <new>

namespace genv::ctl {

std::string runtimeFolder() {
    const char* folder = std::getenv("GENV_RUNTIME_DIRECTORY");
    return folder != nullptr && *folder != '\0' ? folder : GENV_RUNTIME_FOLDER;
}

std::optional<std::string> statusFile(const std::string& id) {
    char* encoded = nullptr;
    if (sd_bus_path_encode("/shell", id.c_str(), &encoded) < 0)
        throw std::bad_alloc(); // the prefix is valid, so there is no other failure
    const std::unique_ptr<char, decltype(&std::free)> label(encoded, &std::free);
    std::string path = runtimeFolder() + label.get();
    if (access(path.c_str(), R_OK) != 0)
        return std::nullopt;
    return path;
}

std::optional<std::string> firstStatusLine(const std::string& id) {
    const std::optional<std::string> path = statusFile(id);
    return path ? firstLineOf(*path) : std::nullopt;
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
