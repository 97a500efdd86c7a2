// SPDX-License-Identifier: LGPL-2.1-or-later
// The shim of docker and podman, which acts by the name it was called by. It becomes the real
// program, so that signals, output and exit status are that one's; what it refuses itself ends with
// 125, as both engines end when they fail themselves.
#include "genv/client.hpp"
#include "shims/docker/rewrite.hpp"
#include "shims/printable.hpp"
#include "shims/real_program.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace {

using genv::shims::printable;
using genv::shims::Refusal;

constexpr int refused = 125;

std::string baseName(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

genv::shims::View attachedDevices(const std::string& environment) {
    try {
        genv::Client client;
        client.environment(environment); // one that has ended holds nothing, and is worth a word
        return genv::shims::readDevices(client, environment);
    } catch (const genv::Error& error) {
        const bool isThere = dynamic_cast<const genv::ServiceUnavailable*>(&error) == nullptr;
        throw Refusal(fmt::format("No GPU for environment {}: {}", printable(environment),
                                  printable(error.what())),
                      isThere ? "\"genv deactivate\" and \"genv activate\" start another one."
                              : "Nothing was started. Containers without GPUs need no service.");
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
        const char next = line.size() > name.size() ? line[name.size()] : '=';
        if (line.starts_with(name) && (next == '=' || next == '\r'))
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
