// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/posix/unix_socket.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace genv::service {

core::Descriptor connectToUnixSocket(const std::filesystem::path& socket) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string& path = socket.native();
    if (path.size() >= sizeof address.sun_path)
        throw std::system_error(ENAMETOOLONG, std::generic_category());
    path.copy(&address.sun_path[0], path.size());
    core::Descriptor own(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (own.get() < 0 ||
        ::connect(own.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
        throw std::system_error(errno, std::generic_category());
    return own;
}

} // namespace genv::service
