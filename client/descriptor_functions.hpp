// SPDX-License-Identifier: LGPL-2.1-or-later
// A file descriptor that is closed by its destructor, and functions for descriptors. For the
// programs below client/ and the shims, which are not part of libgenv.
#pragma once

#include "core/base/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace genv::client {

using core::Descriptor;

/// Writes a complete text. Returns false, with errno set, if that fails.
inline bool writeAll(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0)
            text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

/// Opens each closed standard descriptor on /dev/null. Otherwise a socket could get its number, and
/// messages would be written to it.
inline void openStandardDescriptors() {
    int descriptor = 0;
    do {
        descriptor = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
    if (descriptor > STDERR_FILENO)
        ::close(descriptor);
}

} // namespace genv::client
