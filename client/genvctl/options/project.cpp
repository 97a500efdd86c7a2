// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/options/project.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/files.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/bytes.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

namespace genv::ctl {

namespace {

constexpr const char* folderName = ".genv";
// Longer than any value.
constexpr std::size_t maxFileSize = 256;

// Returns the text of a file without surrounding white space, or nothing if there is no file.
std::optional<std::string> readField(const std::filesystem::path& folder, Field field) {
    const std::filesystem::path file = folder / fieldName(field);
    std::error_code ignored;
    if (!std::filesystem::exists(std::filesystem::symlink_status(file, ignored)))
        return std::nullopt;
    const std::string text = readFile(file, maxFileSize, Links::Refused);
    constexpr const char* whiteSpace = " \t\r\n";
    const std::size_t first = text.find_first_not_of(whiteSpace);
    if (first == std::string::npos)
        return std::nullopt;
    return text.substr(first, text.find_last_not_of(whiteSpace) - first + 1);
}

// Returns the working folder by the shell's name for it.
std::filesystem::path workingFolder() {
    const std::unique_ptr<char, void (*)(void*)> name(get_current_dir_name(), std::free);
    return name ? std::filesystem::path(name.get()) : std::filesystem::path();
}

} // namespace

const char* fieldName(Field field) {
    switch (field) {
    case Field::Name:
        return "name";
    case Field::Gpus:
        return "gpus";
    case Field::GpuMemory:
        return "gpu-memory";
    }
    return "";
}

std::optional<Field> fieldOf(const std::string& name) {
    for (const Field field : allFields) {
        if (name == fieldName(field))
            return field;
    }
    return std::nullopt;
}

std::optional<std::string> fieldText(const Configuration& configuration, Field field) {
    switch (field) {
    case Field::Name:
        return configuration.name;
    case Field::Gpus:
        return configuration.gpus ? std::optional(std::to_string(*configuration.gpus))
                                  : std::nullopt;
    case Field::GpuMemory:
        return configuration.gpuMemoryBytes ? std::optional(amount(*configuration.gpuMemoryBytes))
                                            : std::nullopt;
    }
    return std::nullopt;
}

void setField(Configuration& configuration, Field field, const std::string& text) {
    try {
        switch (field) {
        case Field::Name:
            core::requireName(text);
            configuration.name = text;
            break;
        case Field::Gpus:
            configuration.gpus = parseNumber(text);
            if (!configuration.gpus)
                core::fail(core::ErrorCode::InvalidArgs,
                           "invalid number of GPUs \"{}\": expected a whole number such as 2",
                           core::escaped(text));
            break;
        case Field::GpuMemory:
            configuration.gpuMemoryBytes = core::parseBytes(text).count;
            break;
        }
    } catch (const core::Error& error) {
        throw Failure(ExitStatus::Usage, error.what());
    }
}

std::optional<std::filesystem::path> projectFolder() {
    const char* home = std::getenv("HOME");
    for (const std::filesystem::path& parent :
         {workingFolder(), std::filesystem::path(home != nullptr ? home : "")}) {
        std::error_code ignored;
        if (!parent.empty() && std::filesystem::is_directory(parent / folderName, ignored))
            return parent / folderName;
    }
    return std::nullopt;
}

std::filesystem::path requireProjectFolder() {
    auto folder = projectFolder();
    if (!folder)
        throw Failure(ExitStatus::Failed, "There is no .genv folder here, nor in your home folder",
                      "Create one in your project's folder: mkdir -p .genv");
    return *std::move(folder);
}

std::filesystem::path makeProjectFolder() {
    if (auto folder = projectFolder())
        return *std::move(folder);
    std::filesystem::path folder = workingFolder() / folderName;
    std::error_code error;
    std::filesystem::create_directory(folder, error);
    if (error)
        throw Failure(ExitStatus::Failed,
                      fmt::format("{} cannot be made: {}", folder.native(), error.message()));
    return folder;
}

bool isOwnFolder(const std::filesystem::path& folder) {
    struct stat found {};
    return stat(folder.c_str(), &found) == 0 && found.st_uid == geteuid();
}

Configuration loadProject(const std::filesystem::path& folder) {
    Configuration configuration;
    for (const Field field : allFields) {
        const auto text = readField(folder, field);
        if (!text)
            continue;
        try {
            setField(configuration, field, *text);
        } catch (const Failure& failure) {
            throw Failure(
                ExitStatus::Failed,
                fmt::format("{}: {}", (folder / fieldName(field)).string(), failure.what()));
        }
    }
    return configuration;
}

void saveProject(const std::filesystem::path& folder, const Configuration& configuration,
                 const std::vector<Field>& fields) {
    for (const Field field : fields) {
        if (const auto text = fieldText(configuration, field)) {
            replaceFile(folder / fieldName(field), *text);
            continue;
        }
        const std::filesystem::path file = folder / fieldName(field);
        if (unlink(file.c_str()) < 0 && errno != ENOENT)
            throw Failure(ExitStatus::Failed, fmt::format("{} cannot be removed: {}", file.native(),
                                                          std::strerror(errno)));
    }
}

} // namespace genv::ctl
