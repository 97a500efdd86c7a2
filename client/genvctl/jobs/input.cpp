// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/jobs/input.hpp"

#include "client/descriptor_functions.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "core/base/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace genv::ctl {

namespace {

[[noreturn]] void failed(const std::string& file, int error) {
    throw Failure(ExitStatus::Usage,
                  fmt::format("{} cannot be read: {}",
                              file == "-" ? "standard input" : core::escaped(file, 512),
                              std::strerror(error)));
}

} // namespace

std::string readInput(const std::string& file, std::size_t maxSize) {
    const client::Descriptor descriptor(file == "-"
                                            ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                            : open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!descriptor.isOpen())
        failed(file, errno);
    std::string text;
    std::array<char, 65536> block{};
    while (text.size() < maxSize) {
        const ssize_t count = read(descriptor.get(), block.data(), block.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            failed(file, errno);
        if (count == 0)
            break;
        text.append(block.data(), static_cast<std::size_t>(count));
    }
    return text;
}

} // namespace genv::ctl
