// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/posix/single_request.hpp"

#include "service/posix/descriptor_wait.hpp"

#include <unistd.h>

#include <cerrno>
#include <stdexcept>

namespace genv::service {

std::string readSingleRequest(std::size_t max) {
    const auto deadline = std::chrono::steady_clock::now() + requestTimeout;
    std::string line;
    char next = 0;
    while (becomesReadable(STDIN_FILENO, deadline)) {
        const ssize_t got = ::read(STDIN_FILENO, &next, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            throw std::runtime_error("the request is incomplete");
        if (next == '\n')
            return line;
        line += next;
        if (line.size() >= max)
            throw std::runtime_error("the request is too long");
    }
    throw std::runtime_error("no request received");
}

void writeSingleAnswer(std::string answer) {
    answer += '\n';
    for (std::string_view rest = answer; !rest.empty();) {
        const ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
        if (written < 0 && errno != EINTR)
            return;
        if (written > 0)
            rest.remove_prefix(static_cast<std::size_t>(written));
    }
}

} // namespace genv::service
