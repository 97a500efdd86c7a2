// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/remote/old_genv.hpp"

#include "client/remote/command.hpp"

#include <fmt/format.h>

namespace genv::remote {

namespace {

constexpr int isMissing = 127;
constexpr int needsService = 6; // as genvctl ends, which is called genv as well

bool hasNoCommand(const FarOutput& output) {
    // csh has no exit status of its own for it.
    return output.status == isMissing ||
           (output.status == 1 && output.said.find("Command not found") != std::string::npos);
}

} // namespace

SshBounds remaining(const SshBounds& bounds, std::chrono::steady_clock::time_point began) {
    SshBounds left = bounds;
    if (!bounds.deadline)
        return left;
    *left.deadline -= std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - began);
    if (left.deadline->count() <= 0)
        throw HostFailure(Trouble::TimedOut, "it took too long to answer",
                          "\"--timeout\" gives it more time.");
    return left;
}

std::string readOldSnapshot(const Host& host, const SshBounds& bounds, const HostFailure& service) {
    FarOutput output =
        runThere(host, {"genv", "usage", "snapshot", "--format", "json"}, {}, bounds);
    if (output.status == 0)
        return std::move(output.text);
    if (output.status == needsService)
        throw service;
    if (hasNoCommand(output))
        throw HostFailure(Trouble::NoService,
                          "genv is not installed: it has neither the service genvd nor, in its "
                          "PATH, the command genv");
    throw HostFailure(Trouble::Failed,
                      fmt::format("\"genv usage snapshot\" ended with status {}: {}", output.status,
                                  lastLine(output.said)));
}

} // namespace genv::remote
