// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/jobs/log_file.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/terminal/terminal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace genv::ctl {

namespace {

using Block = std::array<char, 65536>;

[[noreturn]] void failed(const std::string& path) {
    throw Failure(ExitStatus::Failed,
                  fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
}

std::string_view readAt(int file, Block& block, std::size_t count, std::int64_t offset) {
    const ssize_t length = pread(file, block.data(), std::min(count, block.size()), offset);
    return {block.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

} // namespace

bool LogFile::open() {
    if (file_.isOpen())
        return true;
    file_ = client::Descriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file_.isOpen() && errno == ENOENT)
        return false;
    if (!file_.isOpen())
        failed(path_);
    if (lines_)
        offset_ = startOfLastLines(size());
    return true;
}

std::int64_t LogFile::size() const {
    struct stat status {};
    if (fstat(file_.get(), &status) < 0)
        failed(path_);
    return status.st_size;
}

// A last line without an end counts as a line.
std::int64_t LogFile::startOfLastLines(std::int64_t end) const {
    std::size_t missing = *lines_;
    if (missing == 0)
        return end;
    Block block{};
    for (std::int64_t before = end; before > 0;) {
        const std::int64_t start =
            std::max<std::int64_t>(before - static_cast<std::int64_t>(block.size()), 0);
        const std::string_view text =
            readAt(file_.get(), block, static_cast<std::size_t>(before - start), start);
        for (std::size_t i = text.size(); i-- > 0;) {
            const std::int64_t at = start + static_cast<std::int64_t>(i);
            if (text[i] == '\n' && at + 1 < end && --missing == 0)
                return at + 1;
        }
        before = start;
    }
    return 0;
}

bool LogFile::hasMore() {
    if (!open())
        return false;
    const std::int64_t now = size();
    if (now < offset_)
        offset_ = 0; // the task was started again
    return now > offset_;
}

void LogFile::print() {
    Block block{};
    while (hasMore()) {
        const std::string_view text = readAt(file_.get(), block, block.size(), offset_);
        if (text.empty())
            return;
        ctl::print(text);
        offset_ += static_cast<std::int64_t>(text.size());
    }
}

} // namespace genv::ctl
