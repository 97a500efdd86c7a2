// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/project.hpp"

#include "client/genvctl/exit_status.hpp"
#include "client/genvctl/files.hpp"
#include "client/genvctl/text.hpp"
#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace genv::ctl {

namespace {

constexpr const char* folderName = ".genv";
// More than any value is long.
constexpr std::size_t longestFile = 256;

class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (number_ >= 0)
            close(number_);
    }
    [[nodiscard]] int number() const { return number_; }

  private:
    int number_;
};

[[noreturn]] void failed(const std::string& file, const char* why, int error) {
    throw Failure(ExitStatus::Failed, fmt::format("{} {}: {}", file, why, std::strerror(error)));
}

// The text of a file without the white space around it; nothing when there is none.
std::optional<std::string> readField(const std::filesystem::path& folder, Field field) {
    const std::string file = folder / fieldName(field);
    // A pipe or a terminal in its place must not make this wait.
    const Descriptor descriptor(
        open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    if (descriptor.number() < 0 && errno == ENOENT)
        return std::nullopt;
    struct stat status {};
    if (descriptor.number() < 0 || fstat(descriptor.number(), &status) < 0)
        failed(file, "cannot be read", errno);
    if (!S_ISREG(status.st_mode))
        failed(file, "cannot be read", EINVAL);
    std::array<char, longestFile + 1> buffer{};
    const ssize_t length = read(descriptor.number(), buffer.data(), buffer.size());
    if (length < 0)
        failed(file, "cannot be read", errno);
    if (static_cast<std::size_t>(length) > longestFile)
        failed(file, "cannot be read", EFBIG);

    const std::string text(buffer.data(), static_cast<std::size_t>(length));
    constexpr const char* whiteSpace = " \t\r\n";
    const std::size_t first = text.find_first_not_of(whiteSpace);
    if (first == std::string::npos)
        return std::nullopt;
    return text.substr(first, text.find_last_not_of(whiteSpace) - first + 1);
}

// The working folder by the name the shell has for it.
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
                           "\"{}\" is not a number of GPUs; write a whole number such as 2",
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
        const std::string file = folder / fieldName(field);
        if (unlink(file.c_str()) < 0 && errno != ENOENT)
            failed(file, "cannot be removed", errno);
    }
}

} // namespace genv::ctl
