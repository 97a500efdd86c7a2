// SPDX-License-Identifier: LGPL-2.1-or-later
// For tests: any process at the other end of a helper's socket.
#pragma once

#include "core/base/descriptor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace genv::tests {

/// Answers each connection in place of a helper program, by a function of the request's line. An
/// empty answer leaves the connection open until the end of the test.
class LineHelper {
  public:
    using Respond = std::function<std::optional<std::string>(const std::string& line)>;

    LineHelper(const std::filesystem::path& path, Respond respond) : respond_(std::move(respond)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.native().copy(&address.sun_path[0], sizeof address.sun_path - 1);
        std::array<int, 2> ends{};
        if (::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) <
                0 ||
            ::listen(listening_.get(), 64) < 0 || ::pipe2(ends.data(), O_CLOEXEC) < 0)
            throw std::runtime_error("no socket");
        stopped_ = core::Descriptor(ends[0]);
        stop_ = core::Descriptor(ends[1]);
        thread_ = std::thread([this] { serve(); });
    }
    LineHelper(const LineHelper&) = delete;
    LineHelper& operator=(const LineHelper&) = delete;
    ~LineHelper() { end(); }

    /// Returns the lines of all requests, in the order of the connections.
    std::vector<std::string> end() {
        stop_ = core::Descriptor();
        if (thread_.joinable())
            thread_.join();
        return lines_;
    }

  private:
    void serve() {
        for (;;) {
            std::array<pollfd, 2> waiting{pollfd{listening_.get(), POLLIN, 0},
                                          pollfd{stopped_.get(), POLLIN, 0}};
            ::poll(waiting.data(), waiting.size(), -1);
            if (waiting[1].revents != 0)
                return;
            core::Descriptor connection(
                ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            lines_.push_back(readLine(connection.get()));
            if (const auto answer = respond_(lines_.back()))
                ::send(connection.get(), answer->data(), answer->size(), MSG_NOSIGNAL);
            else
                open_.push_back(std::move(connection));
        }
    }
    static std::string readLine(int fd) {
        std::string line;
        for (char next = 0; ::read(fd, &next, 1) == 1 && next != '\n';)
            line += next;
        return line;
    }

    Respond respond_;
    core::Descriptor listening_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    core::Descriptor stopped_;
    core::Descriptor stop_;
    std::vector<std::string> lines_;
    std::vector<core::Descriptor> open_;
    std::thread thread_;
};

} // namespace genv::tests
