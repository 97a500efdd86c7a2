// SPDX-License-Identifier: LGPL-2.1-or-later
// The floor of `genvctl run`: what any program needs that greets the system bus, makes one call to
// genvd, and runs a command to its end.
//
// With --activate, the least that "run" can take: its call asks for an environment with
// GPUs, which polkit authorizes, and it starts genv-watch and becomes the command. It explains no
// refusal, reads no options, and sets no variables. It links no library of C++, which the dynamic
// linker would have to load.
//
// usage: peers_floor COMMAND [ARGUMENT]...
//        peers_floor --activate GPUS GENV-WATCH COMMAND [ARGUMENT]...
#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr const char* name = "dev.genv.Manager";
constexpr const char* path = "/dev/genv/Manager";

// Returns the exit status of the command, or -1.
int runOnce(sd_bus* bus, char** command) {
    char* version = nullptr;
    pid_t child = -1;
    int status = -1;
    if (sd_bus_get_property_string(bus, name, path, name, "Version", nullptr, &version) < 0 ||
        posix_spawnp(&child, command[0], nullptr, nullptr, command, environ) != 0 ||
        waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// Starts genv-watch with the two numbers in the first line of the environment's status file, in
// whose name the bus escapes the first digit of the id.
bool startWatch(const char* program, const char* id) {
    std::array<char, 64> file{};
    std::array<char, 512> line{};
    std::snprintf(file.data(), file.size(), "/run/genv/shell/_3%s", id);
    const int status = open(file.data(), O_RDONLY | O_CLOEXEC);
    if (read(status, line.data(), line.size() - 1) <= 0)
        return false;
    char* const sequence = std::strtok(line.data(), " \n");
    char* const start = std::strtok(nullptr, " \n");
    const int command = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
    const std::array<const char*, 6> words{program, file.data(), id, sequence, start, nullptr};
    posix_spawn_file_actions_t descriptors;
    posix_spawn_file_actions_init(&descriptors);
    posix_spawn_file_actions_adddup2(&descriptors, command, STDERR_FILENO + 1);
    pid_t child = -1;
    return command >= 0 && posix_spawn(&child, program, &descriptors, nullptr,
                                       const_cast<char* const*>(words.data()), nullptr) == 0;
}

// Returns only if it fails.
void becomeCommand(sd_bus* bus, unsigned gpus, const char* watch, char** command) {
    const auto pid = static_cast<unsigned>(getpid());
    std::array<char, 16> id{};
    std::snprintf(id.data(), id.size(), "%u", pid);
    if (sd_bus_call_method(bus, name, path, name, "Activate", nullptr, nullptr, "a{sv}", 3, "pid",
                           "u", pid, "gpus", "u", gpus, "wait", "b", 1) >= 0 &&
        startWatch(watch, id.data()))
        execvp(command[0], command);
}

} // namespace

int main(int count, char** arguments) {
    const bool activates = count > 4 && std::strcmp(arguments[1], "--activate") == 0;
    sd_bus* bus = nullptr;
    int status = -1;
    if (count > 1 && sd_bus_open_system(&bus) >= 0) {
        if (activates)
            becomeCommand(bus, static_cast<unsigned>(std::strtoul(arguments[2], nullptr, 10)),
                          arguments[3], arguments + 4);
        else
            status = runOnce(bus, arguments + 1);
    }
    if (status < 0)
        std::fputs("peers_floor: the bus, genvd or the command cannot be reached\n", stderr);
    return status < 0 ? 1 : status;
}
