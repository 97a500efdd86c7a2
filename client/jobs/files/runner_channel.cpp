// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/files/runner_channel.hpp"

#include "core/base/glibc_pidfd.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace genv::jobs {

namespace {

/// A message of one byte, with room for one descriptor.
struct Packet {
    std::uint8_t byte = 0;
    iovec part{&byte, sizeof byte};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr head{nullptr, 0, &part, 1, nullptr, 0, 0};
};

core::Descriptor descriptorIn(msghdr& head) {
    const cmsghdr* const first = CMSG_FIRSTHDR(&head);
    int descriptor = -1;
    if (first != nullptr && first->cmsg_level == SOL_SOCKET && first->cmsg_type == SCM_RIGHTS)
        std::memcpy(&descriptor, CMSG_DATA(first), sizeof descriptor);
    return core::Descriptor(descriptor);
}

} // namespace

std::pair<RunnerChannel, core::Descriptor> RunnerChannel::make() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) < 0)
        throw std::system_error(errno, std::generic_category(), "a socket for a task");
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return {RunnerChannel(core::Descriptor(ends[0])), core::Descriptor(ends[1])};
}

bool RunnerChannel::isSocket() const noexcept {
    struct stat status {};
    return ::fstat(socket_.get(), &status) == 0 && S_ISSOCK(status.st_mode);
}

bool RunnerChannel::send(RunnerWord word) const {
    Packet packet;
    packet.byte = static_cast<std::uint8_t>(word);
    core::Descriptor process;
    if (word == RunnerWord::Ready) {
        process = core::Descriptor(::pidfd_open(::getpid(), 0));
        if (!process.isOpen())
            return false;
        packet.head.msg_control = packet.control.data();
        packet.head.msg_controllen = packet.control.size();
        cmsghdr* const first = CMSG_FIRSTHDR(&packet.head);
        *first = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        const int descriptor = process.get();
        std::memcpy(CMSG_DATA(first), &descriptor, sizeof descriptor);
    }
    ssize_t sent = 0;
    do {
        sent = ::sendmsg(socket_.get(), &packet.head, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == 1;
}

RunnerMessage RunnerChannel::receive() const {
    Packet packet;
    packet.head.msg_control = packet.control.data();
    packet.head.msg_controllen = packet.control.size();
    ssize_t received = 0;
    do {
        received = ::recvmsg(socket_.get(), &packet.head, MSG_CMSG_CLOEXEC);
    } while (received < 0 && errno == EINTR);
    if (received < 0 && errno == EAGAIN)
        return {RunnerWord::Nothing, {}};
    if (received <= 0 || packet.byte > static_cast<std::uint8_t>(RunnerWord::Started))
        return {};
    RunnerMessage message{static_cast<RunnerWord>(packet.byte), descriptorIn(packet.head)};
    const bool isComplete = message.process.isOpen() == (message.word == RunnerWord::Ready);
    return isComplete ? std::move(message) : RunnerMessage{};
}

} // namespace genv::jobs
