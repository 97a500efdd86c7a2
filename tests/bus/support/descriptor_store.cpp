// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/bus/support/descriptor_store.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace genv::tests {

namespace {

bool hasHungUp(int fd) {
    pollfd poll{fd, 0, 0};
    return ::poll(&poll, 1, 0) > 0 && (poll.revents & (POLLHUP | POLLERR)) != 0;
}

SharedDescriptor descriptorIn(msghdr& message) {
    SharedDescriptor found;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
        found = own(fd);
    }
    return found;
}

} // namespace

SharedDescriptor own(int fd) {
    return {new int(fd), [](const int* descriptor) {
                ::close(*descriptor);
                delete descriptor;
            }};
}

// The kernel chooses the socket's name. Tests that run in parallel may have the same PID, each in
// its own namespace.
DescriptorStore::DescriptorStore()
    : socket_(own(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socklen_t length = sizeof(sa_family_t);
    if (::bind(*socket_, reinterpret_cast<const sockaddr*>(&address), length) < 0)
        throw std::runtime_error("the socket of the descriptor store");
    length = sizeof(address);
    ::getsockname(*socket_, reinterpret_cast<sockaddr*>(&address), &length);
    const std::size_t nameBegin = offsetof(sockaddr_un, sun_path) + 1; // after a zero byte
    address_.assign(1, '@').append(address.sun_path + 1, length - nameBegin);
}

bool DescriptorStore::receive() {
    std::array<char, 4096> text{};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(ucred))>
        control{};
    iovec part{text.data(), text.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t count = ::recvmsg(*socket_, &message, MSG_CMSG_CLOEXEC);
    if (count < 0)
        return false;
    const SharedDescriptor descriptor = descriptorIn(message);
    std::map<std::string, std::string> fields;
    std::istringstream lines(std::string(text.data(), static_cast<std::size_t>(count)));
    for (std::string line; std::getline(lines, line);)
        fields[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
    if (fields.contains("STATUS"))
        status_ = fields["STATUS"];
    if (fields.contains("FDSTORE") && descriptor)
        kept_[fields["FDNAME"]] = descriptor;
    else if (fields.contains("FDSTOREREMOVE"))
        kept_.erase(fields["FDNAME"]);
    return true;
}

const std::map<std::string, SharedDescriptor>& DescriptorStore::received() {
    while (receive()) {
    }
    return kept_;
}

const std::string& DescriptorStore::status() {
    received();
    return status_;
}

const std::map<std::string, SharedDescriptor>& DescriptorStore::kept() {
    received();
    std::erase_if(kept_, [](const auto& entry) { return hasHungUp(*entry.second); });
    return kept_;
}

} // namespace genv::tests
