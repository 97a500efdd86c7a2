// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/gpu/nvml_helper.hpp"

#include "service/gpu/nvml_protocol.hpp"
#include "service/posix/descriptor_wait.hpp"
#include "service/posix/unix_socket.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace genv::service {

namespace {

using Clock = std::chrono::steady_clock;

// How long a helper that closed its end may take to exit.
constexpr std::chrono::seconds exitTimeout{1};

ChildProcess start(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                   core::Descriptor& own) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) < 0)
        throw HelperError(
            fmt::format("cannot open a socket: {}", std::generic_category().message(errno)));
    own = core::Descriptor(ends[0]);
    const core::Descriptor other(ends[1]);
    try {
        return {program, arguments, other.get()};
    } catch (const std::system_error& error) {
        throw HelperError(
            fmt::format("cannot be started from {}: {}", program.string(), error.code().message()));
    }
}

core::Descriptor connectTo(const std::filesystem::path& socket) {
    try {
        return connectToUnixSocket(socket);
    } catch (const std::system_error& error) {
        throw HelperError(
            fmt::format("cannot be reached at {}: {}; check that its socket unit runs",
                        socket.string(), error.code().message()));
    }
}

} // namespace

NvmlHelper::NvmlHelper(const std::filesystem::path& program,
                       const std::vector<std::string>& arguments)
    : process_(start(program, arguments, socket_)) {}

NvmlHelper::NvmlHelper(const std::filesystem::path& socket) : socket_(connectTo(socket)) {}

bool NvmlHelper::hasEnded() {
    if (process_)
        return process_->reap(std::chrono::milliseconds{0}).has_value();
    char next = 0;
    const ssize_t got = ::recv(socket_.get(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

std::string NvmlHelper::ask(std::string_view line, std::chrono::milliseconds time) {
    const auto deadline = Clock::now() + time;
    send(fmt::format("{}\n", line));
    return receiveLine(deadline);
}

std::optional<ChildProcess> NvmlHelper::end() && {
    if (!process_)
        return std::nullopt; // a connection can only be closed
    process_->kill();
    if (process_->reap(exitTimeout))
        return std::nullopt;
    return std::move(process_);
}

void NvmlHelper::send(std::string_view line) {
    // A request is far smaller than the socket's buffer, which is empty between requests. The send
    // therefore succeeds at once or never. A closed connection is detected by reading.
    const ssize_t sent =
        ::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0 ? static_cast<std::size_t>(sent) != line.size() : errno != EPIPE)
        throw HelperError("did not accept the request");
}

std::string NvmlHelper::receiveLine(Clock::time_point deadline) {
    std::string line;
    std::vector<char> chunk(1U << 16U);
    while (Clock::now() < deadline && becomesReadable(socket_.get(), deadline)) {
        const ssize_t got = ::recv(socket_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            throw HelperError(describeEnd());
        const std::string_view part(chunk.data(), static_cast<std::size_t>(got));
        const auto end = part.find('\n');
        if (line.size() + part.size() > maxAnswerSize)
            throw HelperError("sent too long an answer");
        if (end != std::string_view::npos && end + 1 != part.size())
            throw HelperError("sent more than one answer");
        line += part.substr(0, end);
        if (end != std::string_view::npos)
            return line;
    }
    throw HelperError("did not answer in time");
}

std::string NvmlHelper::describeEnd() {
    if (!process_)
        return "ended, or systemd refused the connection; \"journalctl -u 'genv-nvml*'\" may show "
               "the reason";
    return process_->reap(exitTimeout).value_or("closed its connection");
}

} // namespace genv::service
