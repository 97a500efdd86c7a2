// SPDX-License-Identifier: LGPL-2.1-or-later
// The floor of `genvctl run`: what any program needs that greets the system bus, makes one call to
// genvd, and runs a command to its end.
//
// usage: peers_floor COMMAND [ARGUMENT]...
#include <spawn.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <cstdio>

int main(int count, char** arguments) {
    sd_bus* bus = nullptr;
    char* version = nullptr;
    pid_t child = -1;
    int status = -1;
    if (count < 2 || sd_bus_open_system(&bus) < 0 ||
        sd_bus_get_property_string(bus, "dev.genv.Manager", "/dev/genv/Manager", "dev.genv.Manager",
                                   "Version", nullptr, &version) < 0 ||
        posix_spawnp(&child, arguments[1], nullptr, nullptr, arguments + 1, environ) != 0 ||
        waitpid(child, &status, 0) != child) {
        std::fputs("peers_floor: the bus, genvd or the command cannot be reached\n", stderr);
        return 1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
