// SPDX-License-Identifier: LGPL-2.1-or-later
// The shim of docker and podman, which acts by the name it was called by. It becomes the real
// program, so that signals, output and exit status are that one's; what it refuses itself ends with
// 125, as both engines end when they fail themselves.
#include "genv/client.hpp"
#include "shims/docker/rewrite.hpp"
#include "shims/real_program.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>

namespace {

using genv::shims::Refusal;

constexpr int refused = 125;

std::string baseName(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

genv::shims::View attachedDevices(const std::string& environment) {
    try {
        genv::Client client;
        return genv::shims::readDevices(client, environment);
    } catch (const genv::Error& error) {
        throw Refusal(fmt::format("What is attached to environment {} cannot be found out, so "
                                  "nothing with GPUs is started: {}",
                                  genv::shims::printable(environment),
                                  genv::shims::printable(error.what())),
                      "\"systemctl status genvd\" tells about the service; containers without GPUs "
                      "need none.");
    }
}

// Only in a regular file: a pipe can be read once, and that is for the engine.
bool namesEnvironment(const std::string& path) {
    struct stat file {};
    if (stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode))
        return false;
    std::ifstream lines(path);
    const std::string name = "GENV_ENVIRONMENT_ID";
    for (std::string line; std::getline(lines, line);) {
        line.erase(0, std::min(line.find_first_not_of(" \t"), line.size()));
        if (line.starts_with(name) &&
            line.find_first_of("=\r \t", name.size()) ==
                (line.size() > name.size() ? name.size() : std::string::npos))
            return true;
    }
    return false;
}

} // namespace

int main(int argc, char** argv) {
    const std::string name = argc > 0 ? baseName(argv[0]) : "";
    if (name != "docker" && name != "podman") {
        fmt::print(stderr, "genv: this program stands in for docker and podman, by their names.\n");
        return refused;
    }
    const genv::shims::Words arguments(argv + 1, argv + argc);
    const auto environment = genv::shims::environmentId();
    // Without a real one there is nothing to ask the service for.
    if (genv::shims::isBypassed() || !environment ||
        !genv::shims::findRealProgram(name, genv::shims::ownFolder()))
        genv::shims::executeReal(name, arguments);
    genv::shims::Words rewritten;
    try {
        rewritten = genv::shims::rewrite(
            arguments,
            {name == "docker" ? genv::shims::Engine::Docker : genv::shims::Engine::Podman,
             *environment, [&] { return attachedDevices(*environment); }, namesEnvironment});
    } catch (const Refusal& refusal) {
        fmt::print(stderr, "genv: {}\n{}\n", refusal.what(), refusal.hint());
        return refused;
    }
    genv::shims::executeReal(name, rewritten);
}
