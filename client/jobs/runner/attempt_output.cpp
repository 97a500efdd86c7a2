// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/runner/attempt_output.hpp"

#include "core/base/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace genv::jobs {

namespace {

bool passes(int error) {
    return error == ENOSPC || error == EDQUOT || error == EIO || error == EMFILE || error == ENFILE;
}

// A pipe without a reader must not block this process.
client::Descriptor opened(const OutputFile& file) {
    constexpr int flags = O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    if (file.isLog)
        return client::Descriptor(::open(file.path.c_str(), O_RDWR | O_NOFOLLOW | flags, 0600));
    const mode_t own = ::umask(file.umask);
    client::Descriptor descriptor(::open(file.path.c_str(), O_WRONLY | flags, 0666));
    const int error = errno;
    ::umask(own);
    errno = error;
    return descriptor;
}

} // namespace

Output::Output(OutputFile file, std::uint64_t limit) : file_(std::move(file)), limit_(limit) {}

std::optional<std::string> Output::open() {
    descriptor_ = opened(file_);
    struct stat status {};
    if (!descriptor_.isOpen() || ::fstat(descriptor_.get(), &status) < 0) {
        if (passes(errno))
            return std::nullopt;
        return fmt::format("cannot open the output \"{}\": {}", core::escaped(file_.path, 512),
                           std::strerror(errno));
    }
    size_ = S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
    char last = '\n';
    endsLine_ = !file_.isLog || size_ == 0 ||
                ::pread(descriptor_.get(), &last, 1, status.st_size - 1) != 1 || last == '\n';
    return std::nullopt;
}

bool Output::isReady() noexcept {
    if (!descriptor_.isOpen()) {
        loss_ = ENOSPC;
        try {
            if (open() || !descriptor_.isOpen())
                return false;
        } catch (const std::exception&) { // no memory; it may be there later
            return false;
        }
    }
    return hasToldLoss();
}

bool Output::hasToldLoss() noexcept {
    const int loss = std::exchange(loss_, 0);
    if (loss == 0 || hasTold_)
        return true;
    hasTold_ = appendLine("output is missing here: ", std::strerror(loss));
    return hasTold_;
}

bool Output::append(std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor_.get(), text.data(), text.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            loss_ = written < 0 ? errno : ENOSPC;
            return false;
        }
        const auto count = static_cast<std::size_t>(written);
        endsLine_ = text[count - 1] == '\n';
        size_ += count;
        text.remove_prefix(count);
    }
    return true;
}

bool Output::appendLine(std::string_view first, std::string_view second) noexcept {
    return (endsLine_ || append("\n")) && append("genv: ") && append(first) && append(second) &&
           append("\n");
}

void Output::write(std::string_view text) noexcept {
    if (text.empty() || isFull_ || !isReady())
        return;
    const std::uint64_t space = file_.isLog ? limit_ - std::min(limit_, size_) : text.size();
    if (append(text.substr(0, space)) && text.size() > space)
        isFull_ = appendLine("the log has reached its limit, and further output is dropped", {});
}

void Output::note(std::string_view text) noexcept {
    if (isReady())
        appendLine(text, {});
}

void Output::noteAttempt(std::uint32_t attempt) noexcept {
    if (size_ == 0)
        return;
    try {
        note(fmt::format("attempt {} starts", attempt));
    } catch (const std::exception&) { // NOLINT(bugprone-empty-catch): no memory for a note
    }
}

} // namespace genv::jobs
