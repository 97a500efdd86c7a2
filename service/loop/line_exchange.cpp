// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/loop/line_exchange.hpp"

#include "service/loop/glib_loop.hpp"
#include "service/posix/unix_socket.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace genv::service {

LineExchange::LineExchange(const std::filesystem::path& socket, const std::string& request,
                           std::chrono::milliseconds timeout, std::size_t maxAnswer,
                           core::Scheduler& scheduler, Finished finished)
    : connection_(connectToUnixSocket(socket)), maxAnswer_(maxAnswer),
      finished_(std::move(finished)) {
    const std::string line = request + '\n';
    // The line is far smaller than the buffer of a new socket, so it is sent at once or never. A
    // closed connection is detected by reading.
    const ssize_t sent = ::send(connection_.get(), line.data(), line.size(), MSG_NOSIGNAL);
    if (sent >= 0 ? static_cast<std::size_t>(sent) != line.size() : errno != EPIPE)
        throw std::system_error(sent < 0 ? errno : EMSGSIZE, std::generic_category());
    readable_ = GlibLoop::onReadable(connection_.get(), [this] { receive(); });
    deadline_ = scheduler.after(timeout, [this] { finish(End::Late); });
}

void LineExchange::receive() {
    std::array<char, 4096> chunk{};
    const ssize_t got = ::recv(connection_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        finishAtEnd();
        return;
    }
    received_.append(chunk.data(), static_cast<std::size_t>(got));
    if (received_.size() > maxAnswer_)
        finish(End::TooLong);
}

void LineExchange::finishAtEnd() {
    if (received_.empty()) {
        finish(End::Ended);
        return;
    }
    const bool isLine = received_.find('\n') == received_.size() - 1;
    finish(isLine ? End::Answered : End::NoLine);
}

void LineExchange::finish(End end) {
    readable_.reset();
    deadline_.reset();
    const Finished finished = std::move(finished_);
    const std::string line = end == End::Answered ? received_.substr(0, received_.size() - 1) : "";
    finished(end, line); // this object may be destroyed now
}

} // namespace genv::service
