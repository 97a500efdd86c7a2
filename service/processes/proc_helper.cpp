// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/processes/proc_helper.hpp"

#include "service/posix/descriptor_wait.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace genv::service {

namespace {

// How long the program may take to start.
constexpr std::chrono::seconds startTime{5};
// How long a killed reader may take to exit. The thread that killed it waits.
constexpr std::chrono::milliseconds exitTime{100};

ChildProcess start(const ProcProgram& program, core::Descriptor& own) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) < 0)
        throw ProcHelperError(
            fmt::format("cannot open a socket: {}", std::generic_category().message(errno)));
    own = core::Descriptor(ends[0]);
    const core::Descriptor other(ends[1]);
    try {
        return {program.path,
                {fmt::format("--read-processes={}", ::getpid())},
                other.get(),
                ChildProcess::Variables::Empty};
    } catch (const std::system_error& error) {
        throw ProcHelperError(fmt::format("cannot be started: {}", error.code().message()));
    }
}

} // namespace

ProcHelper::ProcHelper(const ProcProgram& program)
    : buffer_(maxProcPacketSize, '\0'), process_(start(program, socket_)) {
    const auto greeting = receive(Clock::now() + startTime);
    if (!greeting || *greeting != procGreeting)
        throw ProcHelperError("does not start");
}

void ProcHelper::ask(const std::vector<ProcRequest>& requests) {
    const std::string packet = encodeProcRequests(requests);
    // The buffer is empty between requests, so a packet is sent at once or never.
    if (::send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        throw ProcHelperError(process_.reap(exitTime).value_or("did not accept the request"));
}

std::optional<ProcAnswer> ProcHelper::next(Clock::time_point deadline) {
    const auto packet = receive(deadline);
    if (!packet)
        return std::nullopt;
    try {
        return decodeProcAnswer(*packet);
    } catch (const ProcProtocolError& error) {
        throw ProcHelperError(fmt::format("sent an invalid answer: {}", error.what()));
    }
}

std::optional<std::string_view> ProcHelper::receive(Clock::time_point deadline) {
    for (;;) {
        const ssize_t got = ::recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
        if (got > 0)
            return std::string_view(buffer_).substr(0, static_cast<std::size_t>(got));
        if (got == 0 || (errno != EAGAIN && errno != EINTR))
            throw ProcHelperError(process_.reap(exitTime).value_or("closed its connection"));
        if (!becomesReadable(socket_.get(), deadline))
            return std::nullopt;
    }
}

std::optional<ChildProcess> ProcHelper::end() && {
    process_.kill();
    if (process_.reap(exitTime))
        return std::nullopt;
    return std::move(process_);
}

} // namespace genv::service
