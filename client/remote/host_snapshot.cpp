// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/remote/host_snapshot.hpp"

#include "client/remote/command.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace genv::remote {

SshBounds boundsLeft(const SshBounds& bounds, std::chrono::steady_clock::time_point began) {
    SshBounds left = bounds;
    if (bounds.deadline) {
        const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(
            std::chrono::steady_clock::now() - began);
        left.deadline = std::max(*bounds.deadline - passed, std::chrono::milliseconds{1});
    }
    return left;
}

HostFailure commandFailed(std::string_view command, const FarOutput& output) {
    constexpr int noSuchCommand = 127;
    if (output.status == noSuchCommand)
        return {Trouble::NoService, "There is no genv",
                "Install it there, or leave this host out."};
    const std::string said = lastLine(output.said);
    // So genvctl ends where there is no service, and it is what "genv" is where both are there.
    constexpr int noService = 6;
    return {output.status == noService ? Trouble::NoService : Trouble::Failed,
            fmt::format("\"{}\" failed there with status {}{}{}", command, output.status,
                        said.empty() ? "" : ": ", said)};
}

HostSnapshot readOldSnapshot(const Host& host, const SshBounds& bounds) {
    const FarOutput output =
        runThere(host, {"genv", "usage", "snapshot", "--format", "json"}, "", bounds);
    if (output.status != 0)
        throw commandFailed("genv usage snapshot", output);
    return {Genv::Old, output.text};
}

HostSnapshot readHostSnapshot(const Host& host, const SshBounds& bounds) {
    const auto began = std::chrono::steady_clock::now();
    try {
        Session session(host, bounds);
        return {Genv::Service, session.use([](Client& client) { return client.snapshot(); })};
    } catch (const HostFailure& failure) {
        if (failure.trouble() != Trouble::NoService)
            throw;
    }
    return readOldSnapshot(host, boundsLeft(bounds, began));
}

} // namespace genv::remote
