// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/libgenv/process_arguments.hpp"

#include "core/base/glibc_pidfd.hpp"
#include "dbus/contract/names.hpp"

#include <climits>

namespace genv::client {

namespace contract = dbus::contract;

std::uint32_t ownPid(Connection& connection) {
    std::uint32_t pid = 0;
    connection.proxy(contract::busDriver, contract::busDriverPath)
        ->callMethod("GetConnectionUnixProcessID")
        .onInterface(contract::busDriver)
        .withArguments(connection.uniqueName())
        .storeResultsTo(pid);
    return pid;
}

std::optional<sdbus::UnixFd> pidfdFor(Connection& connection, std::uint32_t pid) {
    if (pid == 0 || pid > INT_MAX || !connection.sendsDescriptors())
        return std::nullopt;
    const int process = ::pidfd_open(static_cast<pid_t>(pid), 0);
    if (process < 0)
        return std::nullopt;
    return sdbus::UnixFd(process, sdbus::adopt_fd);
}

void namePrecisely(Connection& connection, Dictionary& options) {
    const auto pid = options.find("pid");
    if (pid == options.end())
        return;
    if (auto process = pidfdFor(connection, pid->second.get<std::uint32_t>())) {
        options.erase(pid);
        options["process"] = sdbus::Variant(*std::move(process));
    }
}

} // namespace genv::client
