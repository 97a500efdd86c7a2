// SPDX-License-Identifier: LGPL-2.1-or-later
// Other machines as people name them: [user@]host[:port], lists of them, and files with one a line.
// What is read here becomes words of ssh's command line, so a name that ssh could take for an
// option, or that holds anything but printable characters, is none.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::remote {

/// A machine that ssh reaches. What is unset is as ssh's own configuration has it.
struct Host {
    std::string name; ///< a name, an alias of ssh's configuration or an address, without brackets
    std::optional<std::string> user;
    std::optional<std::uint16_t> port;

    /// What it is called in tables, messages and metrics: the name, with the port if one was given
    /// ("h1", "h1:2222", "[::1]:2222"). Safe to print.
    [[nodiscard]] std::string label() const;

    bool operator==(const Host&) const = default;
};

/// Names of hosts that cannot be used; what() says which and why.
class InvalidHost : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Reads [user@]host[:port]; an IPv6 address with a port stands in brackets. Throws InvalidHost.
Host readHost(std::string_view text);

/// Reads hosts with commas between them. One that is named twice is one. Throws InvalidHost.
std::vector<Host> readHosts(std::string_view text);

/// Reads a file with a host on each line; empty lines and what follows a "#" say nothing. At most
/// 1 MiB and 4096 hosts. Throws InvalidHost, also where the file cannot be read or names no host.
std::vector<Host> readHostFile(const std::string& path);

} // namespace genv::remote
