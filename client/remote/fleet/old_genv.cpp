// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/remote/fleet/old_genv.hpp"

#include "client/remote/fleet/host_snapshot.hpp"
#include "client/remote/ssh/remote_command.hpp"

#include <fmt/format.h>

#include <utility>

namespace genv::remote {

HostFailure commandFailed(std::string_view command, const FarOutput& output) {
    constexpr int noSuchCommand = 127;
    if (output.status == noSuchCommand)
        return {Trouble::NoService, "There is no genv",
                "Install it there, or leave this host out."};
    const std::string message = lastLine(output.errorText);
    // genvctl exits with this status if there is no service. On a host with both versions, "genv"
    // runs genvctl.
    constexpr int noService = 6;
    return {output.status == noService ? Trouble::NoService : Trouble::Failed,
            fmt::format("\"{}\" failed there with status {}{}{}", command, output.status,
                        message.empty() ? "" : ": ", message)};
}

std::string readOldSnapshot(const Host& host, const SshBounds& bounds) {
    FarOutput output =
        runThere(host, {"genv", "usage", "snapshot", "--format", "json"}, "", bounds);
    if (output.status != 0)
        throw commandFailed("genv usage snapshot", output);
    return std::move(output.text);
}

bool hasOldGenv(const Host& host, const SshBounds& bounds) {
    // On a host with genv 2, the same command would run genv 2, which is not reported here.
    constexpr const char* unlessNew =
        "command -v genvctl >/dev/null && exit 1; exec genv usage snapshot --format json";
    try {
        const FarOutput output = runThere(host, {"sh", "-c", unlessNew}, "", bounds);
        if (output.status != 0)
            return false;
        parseSnapshot(output.text);
        return true;
    } catch (const InvalidSnapshot&) { // another program with the same name
        return false;
    } catch (const HostFailure&) {
        return false;
    }
}

bool isRootThere(const Host& host, const SshBounds& bounds) {
    const FarOutput output = runThere(host, {"id", "-u"}, "", bounds);
    return output.status == 0 && lastLine(output.text) == "0";
}

} // namespace genv::remote
