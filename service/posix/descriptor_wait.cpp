// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/posix/descriptor_wait.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace genv::service {

bool becomesReadable(int fd, std::chrono::steady_clock::time_point deadline) {
    using std::chrono::milliseconds;
    for (;;) {
        const auto remaining =
            std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
        pollfd input{fd, POLLIN, 0};
        const int result =
            ::poll(&input, 1, static_cast<int>(std::clamp<std::int64_t>(remaining, 0, 1'000'000)));
        if (result > 0)
            return true;
        if (result < 0 && errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "poll");
        if (remaining <= 0)
            return false;
    }
}

} // namespace genv::service
