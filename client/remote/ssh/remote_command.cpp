// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/remote/ssh/remote_command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace genv::remote {

namespace {

/// Writes the input of ssh and reads its output at the same time, so that neither blocks the other.
class Exchange {
  public:
    Exchange(SshChild& child, int descriptor, std::string_view input, std::size_t maxSize)
        : child_(child), descriptor_(descriptor), input_(input), maxSize_(maxSize) {
        fcntl(descriptor_, F_SETFL, O_NONBLOCK);
    }

    /// Runs until the output ends. Returns false if the output is too long.
    bool run() {
        if (input_.empty())
            shutdown(descriptor_, SHUT_WR);
        bool speaks = true;
        for (;;) {
            std::array<pollfd, 2> watched{
                pollfd{descriptor_, POLLIN, 0},
                pollfd{speaks ? child_.messagesDescriptor() : -1, POLLIN, 0}};
            if (!input_.empty())
                watched[0].events |= POLLOUT;
            if (poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR)
                throw std::system_error(errno, std::generic_category(), "waiting for ssh");
            if (watched[1].revents != 0)
                child_.messages();
            speaks = speaks && (watched[1].revents & (POLLHUP | POLLERR)) == 0;
            if ((watched[0].revents & POLLOUT) != 0)
                give();
            if ((watched[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !take())
                return text.size() <= maxSize_;
        }
    }

    std::string text;

  private:
    void give() {
        const ssize_t count = send(descriptor_, input_.data(), input_.size(), MSG_NOSIGNAL);
        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        // If the other end is closed, the rest of the input is dropped.
        input_.remove_prefix(count < 0 ? input_.size() : static_cast<std::size_t>(count));
        if (input_.empty())
            shutdown(descriptor_, SHUT_WR);
    }

    // Returns false at the end of the output.
    bool take() {
        std::array<char, 65536> part{};
        const ssize_t count = recv(descriptor_, part.data(), part.size(), 0);
        if (count < 0)
            return errno == EAGAIN || errno == EINTR;
        text.append(part.data(), static_cast<std::size_t>(count));
        return count > 0 && text.size() <= maxSize_;
    }

    SshChild& child_;
    int descriptor_;
    std::string_view input_;
    std::size_t maxSize_;
};

} // namespace

FarOutput runThere(const Host& host, const std::vector<std::string>& words, std::string_view input,
                   const SshBounds& bounds, std::size_t maxSize) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) < 0)
        throw std::system_error(errno, std::generic_category(), "a socket for ssh");
    const client::Descriptor mine(ends[0]);
    auto its = std::make_unique<client::Descriptor>(ends[1]);
    SshChild child(quietSsh(host, commandLine(words)), its->get(), its->get(), bounds);
    its.reset();
    Exchange exchange(child, mine.get(), input, maxSize);
    if (!exchange.run())
        throw HostFailure(Trouble::Failed, fmt::format("\"{}\" printed more than {} KiB there",
                                                       words.front(), maxSize >> 10));
    FarOutput output;
    output.status = child.wait();
    output.errorText = child.messages();
    output.text = std::move(exchange.text);
    if (output.status == sshFailed || output.status > 128)
        throw sshFailure(host, bounds, child, output.errorText);
    return output;
}

} // namespace genv::remote
