// SPDX-License-Identifier: LGPL-2.1-or-later
// The shim of docker and podman, which acts according to the name by which it was called. It
// becomes the real program, so that signals, output and exit status are those of the real program.
// If the shim itself refuses a request, it exits with 125, as both engines do for their own
// failures.
#include "genv/client.hpp"
#include "genv/isolation.hpp"
#include "shims/docker/rewrite.hpp"
#include "shims/printable.hpp"
#include "shims/program_environment.hpp"
#include "shims/real_program.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>

namespace {

using genv::shims::printable;
using genv::shims::RefusedRequest;

constexpr int refused = 125;
constexpr const char* withoutService =
    "No container was started. Containers without GPUs start without genvd.";

std::string baseName(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

RefusedRequest noGpu(const genv::client::NamedEnvironment& environment, const std::string& why,
                     const std::string& hint) {
    return {fmt::format("No GPU for environment {}: {}", printable(environment.id), why), hint};
}

// If the service does not answer, the error is reported later, if a container requests GPUs.
std::optional<genv::client::NamedEnvironment>
ownEnvironment(const genv::shims::Whereabouts& where) {
    if (!where.job)
        return where.named;
    try {
        genv::Client client;
        return genv::shims::ownEnvironment(client, where);
    } catch (const genv::Error&) {
        return genv::client::NamedEnvironment{"slurm-" + *where.job, {}};
    }
}

genv::shims::View attachedDevices(const genv::client::NamedEnvironment& environment) {
    constexpr const char* another =
        "Run \"genv deactivate\" and \"genv activate\" to start another environment.";
    try {
        genv::Client client;
        // An environment that has ended holds no device; report that.
        if (!genv::shims::isThere(client, environment))
            throw noGpu(environment, "it has ended", another);
        return genv::shims::readDevices(client, environment);
    } catch (const genv::shims::AnothersEnvironment& error) {
        throw noGpu(environment, error.what(),
                    "Run the command as that user, or set GENV_BYPASS=1 to run it without genv.");
    } catch (const genv::ServiceUnavailable& error) {
        throw noGpu(environment, printable(error.what()), withoutService);
    } catch (const genv::Error& error) {
        throw noGpu(environment, printable(error.what()), another);
    }
}

// Returns the user of containers with GPUs, if an administrator configured one. An error must not
// be treated as "not configured", because the container would then run as root.
std::optional<std::string> containerUser(const genv::client::NamedEnvironment& environment) {
    try {
        genv::Client client;
        const genv::IsolationState isolation = client.isolation();
        if (isolation.mode == "none" || !isolation.dockerUser)
            return std::nullopt;
        return fmt::format("{}:{}", getuid(), getgid());
    } catch (const genv::ServiceUnavailable& error) {
        throw noGpu(environment, printable(error.what()), withoutService);
    } catch (const genv::Error& error) {
        throw noGpu(environment,
                    fmt::format("cannot read the setting DockerUser from genvd: {}",
                                printable(error.what())),
                    "No container was started. Try again, or choose the user with --user.");
    }
}

// Reads only regular files, because a pipe can be read only once and the engine needs its contents.
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
        fmt::print(stderr, "genv: this program must be called as docker or podman\n");
        return refused;
    }
    const genv::shims::Words arguments(argv + 1, argv + argc);
    const auto where = genv::shims::readWhereabouts();
    // Without a real program, there is no need to query the service.
    if (genv::shims::isBypassed() || !where.mayBeInside() ||
        !genv::shims::findRealProgram(name, genv::shims::ownFolder()))
        genv::shims::executeReal(name, arguments);
    const auto environment = ownEnvironment(where);
    if (!environment)
        genv::shims::executeReal(name, arguments);
    genv::shims::Words rewritten;
    try {
        rewritten = genv::shims::rewrite(
            arguments, {name == "docker" ? genv::shims::ContainerEngine::Docker
                                         : genv::shims::ContainerEngine::Podman,
                        environment->id, [&] { return attachedDevices(*environment); },
                        namesEnvironment, [&] { return containerUser(*environment); }});
    } catch (const RefusedRequest& refusal) {
        fmt::print(stderr, "genv: {}\n{}\n", refusal.what(), refusal.hint());
        return refused;
    }
    genv::shims::executeReal(name, rewritten);
}
