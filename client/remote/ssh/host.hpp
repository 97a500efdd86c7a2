// SPDX-License-Identifier: LGPL-2.1-or-later
// Names of other machines: [user@]host[:port], lists of them, and files with one on each line.
// Names become words of ssh's command line. A name that ssh could take for an option, or that
// contains anything but printable characters, is therefore invalid.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::remote {

/// A machine that ssh reaches. Unset values come from ssh's own configuration.
struct Host {
    std::string name; ///< a name, an alias in ssh's configuration or an address, without brackets
    std::optional<std::string> user;
    std::optional<std::uint16_t> port;

    /// Returns the name in tables, messages and metrics: the host name, with the port if one was
    /// given ("h1", "h1:2222", "[::1]:2222"). Safe to print.
    [[nodiscard]] std::string label() const;

    bool operator==(const Host&) const = default;
};

/// Invalid host names. what() contains the name and the reason.
class InvalidHost : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Parses [user@]host[:port]. An IPv6 address with a port must be in brackets. Throws InvalidHost.
Host readHost(std::string_view text);

/// Parses hosts separated by commas. Duplicates count once. Throws InvalidHost.
std::vector<Host> readHosts(std::string_view text);

/// Reads a file with one host on each line. Empty lines and text after "#" are ignored. At most 1
/// MiB and 4096 hosts. Throws InvalidHost, also if the file cannot be read or contains no host.
std::vector<Host> readHostFile(const std::string& path);

} // namespace genv::remote
