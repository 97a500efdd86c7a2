// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/processes/proc_server.hpp"

#include "core/base/descriptor.hpp"
#include "core/base/parent_end.hpp"
#include "service/posix/shortage.hpp"
#include "service/processes/proc_protocol.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace genv::service {

namespace {

[[noreturn]] void throwErrno(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

// Standard input and output are one socket. Libraries that print write to standard error instead.
core::Descriptor takeSocket() {
    core::Descriptor own(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    const core::Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (own.get() < 0 || ::dup2(nothing.get(), STDIN_FILENO) < 0 ||
        ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        throwErrno("standard input and output");
    return own;
}

template <typename Value>
ProcAnswer answerWith(std::optional<Value> value) {
    if (value)
        return *std::move(value);
    if (isShortage(errno))
        return ProcShortage{};
    return ProcGone{};
}

ProcAnswer read(const ProcRequest& request, AncestorFiles& ancestors) {
    errno = 0;
    switch (request.part) {
    case ProcPart::Identity:
        return answerWith(readIdentity(request.pid));
    case ProcPart::Facts:
        return answerWith(readProcess(request.pid));
    case ProcPart::Lineage:
        return answerWith(readLineage(request.pid, ancestors));
    case ProcPart::Claims:
        return answerWith(readClaims(request.pid));
    case ProcPart::Login:
        return readLogin(request.pid);
    case ProcPart::PidNamespace:
        return answerWith(readPidNamespace(request.pid));
    case ProcPart::Arguments:
        break;
    }
    return readArguments(request.pid);
}

void send(int socket, std::string_view packet) {
    while (::send(socket, packet.data(), packet.size(), MSG_NOSIGNAL) < 0) {
        if (errno != EINTR)
            throwErrno("send");
    }
}

// Returns the next packet; empty at the end of input.
std::string_view receive(int socket, std::string& buffer) {
    for (;;) {
        const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
        if (got >= 0)
            return std::string_view(buffer).substr(0, static_cast<std::size_t>(got));
        if (errno != EINTR)
            throwErrno("recv");
    }
}

} // namespace

int serveProcReads(pid_t parent) {
    try {
        // Also ends this process while it hangs in the kernel and cannot notice the end of its
        // input.
        if (!core::endWithParent(parent, SIGKILL))
            throw std::runtime_error("the parent is gone");
        // A stopping unit signals all of its processes. This one ignores the signal and ends when
        // genvd has ended.
        ::signal(SIGTERM, SIG_IGN);
        ::signal(SIGINT, SIG_IGN);
        ::prctl(PR_SET_NAME, "genvd-proc");
        const core::Descriptor socket = takeSocket();
        send(socket.get(), procGreeting);
        std::string buffer(maxProcPacketSize, '\0');
        for (std::string_view packet; !(packet = receive(socket.get(), buffer)).empty();) {
            AncestorFiles ancestors;
            for (const ProcRequest& request : decodeProcRequests(packet))
                send(socket.get(), encodeProcAnswer(read(request, ancestors)));
        }
        return EXIT_SUCCESS;
    } catch (const std::exception& error) {
        fmt::print(stderr, "genvd: the reader of /proc ends: {}\n", error.what());
        return EXIT_FAILURE;
    }
}

} // namespace genv::service
