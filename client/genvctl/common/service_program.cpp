// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/common/service_program.hpp"

#include "client/genvctl/common/exit_status.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

namespace genv::ctl {

namespace {

constexpr std::size_t maxAnswer = 64 << 10;

class Actions {
  public:
    Actions() { posix_spawn_file_actions_init(&actions_); }
    Actions(const Actions&) = delete;
    Actions& operator=(const Actions&) = delete;
    ~Actions() { posix_spawn_file_actions_destroy(&actions_); }
    posix_spawn_file_actions_t* get() { return &actions_; }

  private:
    posix_spawn_file_actions_t actions_{};
};

// Reads to the end, so that the writer never blocks, and drops text beyond the limit.
std::string readAll(int descriptor) {
    std::string text;
    std::array<char, 4096> chunk{};
    for (;;) {
        const ssize_t count = read(descriptor, chunk.data(), chunk.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return text;
        if (text.size() < maxAnswer)
            text.append(chunk.data(), static_cast<std::size_t>(count));
    }
}

// Runs a program of the service.
FileCheck run(std::string program, std::vector<std::string> arguments, bool collect) {
    std::vector<char*> words{program.data()};
    for (std::string& argument : arguments)
        words.push_back(argument.data());
    words.push_back(nullptr);
    std::array<int, 2> answer{-1, -1};
    Actions actions;
    if (collect && pipe2(answer.data(), O_CLOEXEC) == 0)
        posix_spawn_file_actions_adddup2(actions.get(), answer[1], STDERR_FILENO);
    pid_t process = -1;
    const int error =
        posix_spawn(&process, program.c_str(), actions.get(), nullptr, words.data(), environ);
    if (answer[1] >= 0)
        close(answer[1]);
    FileCheck check;
    if (answer[0] >= 0) {
        check.errors = readAll(answer[0]);
        close(answer[0]);
    }
    if (error != 0)
        throw Failure(ExitStatus::Failed,
                      fmt::format("{} cannot be run: {}", program, std::strerror(error)),
                      "Install the service, or name its program in the variable GENVD.");
    while (waitpid(process, &check.status, 0) < 0 && errno == EINTR) {
    }
    return check;
}

} // namespace

std::string serviceProgram() {
    const char* path = std::getenv("GENVD");
    return path != nullptr && *path != '\0' ? path : GENV_SERVICE_PATH;
}

FileCheck checkWithService(std::string_view file, bool collect, const PresentUse& present) {
    std::vector<std::string> arguments{"--check",
                                       (file.starts_with('-') ? "./" : "") + std::string(file)};
    const auto add = [&](const char* option, const std::vector<std::string>& texts) {
        for (const std::string& text : texts)
            arguments.insert(arguments.end(), {option, text});
    };
    add("--used", present.used);
    add("--outside", present.outside);
    return run(serviceProgram(), std::move(arguments), collect);
}

std::string obstacleToIsolation() {
    const std::string program =
        std::filesystem::path(serviceProgram()).replace_filename("genv-isolation");
    if (access(program.c_str(), X_OK) != 0)
        return "";
    const FileCheck check = run(program, {"--check"}, true);
    return check.status == 0 ? "" : check.errors.substr(0, check.errors.find('\n'));
}

} // namespace genv::ctl
