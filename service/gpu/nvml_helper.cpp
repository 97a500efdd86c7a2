// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/gpu/nvml_helper.hpp"

#include "service/gpu/nvml_protocol.hpp"
#include "service/gpu/wait.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace genv::service {

namespace {

using Clock = std::chrono::steady_clock;

// How long a helper that closed its end may take to be gone.
constexpr std::chrono::seconds exitPatience{1};

ChildProcess start(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                   Descriptor& own) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) < 0)
        throw HelperError(fmt::format("has no socket: {}", std::generic_category().message(errno)));
    own = Descriptor(ends[0]);
    const Descriptor other(ends[1]);
    try {
        return {program, arguments, other.get()};
    } catch (const std::system_error& error) {
        throw HelperError(
            fmt::format("cannot be started from {}: {}", program.string(), error.code().message()));
    }
}

} // namespace

NvmlHelper::NvmlHelper(const std::filesystem::path& program,
                       const std::vector<std::string>& arguments)
    : process_(start(program, arguments, socket_)) {}

std::string NvmlHelper::ask(std::string_view line, std::chrono::milliseconds time) {
    const auto deadline = Clock::now() + time;
    send(fmt::format("{}\n", line));
    return receiveLine(deadline);
}

std::optional<ChildProcess> NvmlHelper::end() && {
    process_.kill();
    if (process_.reap(exitPatience))
        return std::nullopt;
    return std::move(process_);
}

void NvmlHelper::send(std::string_view line) {
    // A request is far smaller than the buffer of a socket, which is empty between requests, so it
    // goes at once or never. That the other end is closed is found by reading.
    const ssize_t sent =
        ::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0 ? static_cast<std::size_t>(sent) != line.size() : errno != EPIPE)
        throw HelperError("takes no request");
}

std::string NvmlHelper::receiveLine(Clock::time_point deadline) {
    std::string line;
    std::vector<char> chunk(1U << 16U);
    while (Clock::now() < deadline && becomesReadable(socket_.get(), deadline)) {
        const ssize_t got = ::recv(socket_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            throw HelperError(process_.reap(exitPatience).value_or("closed its connection"));
        const std::string_view part(chunk.data(), static_cast<std::size_t>(got));
        const auto end = part.find('\n');
        if (line.size() + part.size() > longestAnswer)
            throw HelperError("gave too long an answer");
        if (end != std::string_view::npos && end + 1 != part.size())
            throw HelperError("said more than it was asked");
        line += part.substr(0, end);
        if (end != std::string_view::npos)
            return line;
    }
    throw HelperError("did not answer in time");
}

} // namespace genv::service
