// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/lock_pipes.hpp"

#include "core/base/error.hpp"
#include "service/loop/glib_loop.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <systemd/sd-daemon.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace genv::service {

namespace {

constexpr std::string_view namePrefix = "lock-";

std::string nameOf(std::uint64_t number) {
    return fmt::format("{}{}", namePrefix, number);
}

std::optional<std::uint64_t> numberIn(std::string_view name) {
    if (!name.starts_with(namePrefix))
        return std::nullopt;
    name.remove_prefix(namePrefix.size());
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc{} || end != name.data() + name.size())
        return std::nullopt;
    return number;
}

class WritingEnd : public core::LockEnd {
  public:
    explicit WritingEnd(core::Descriptor end) : end_(std::move(end)) {}
    [[nodiscard]] int descriptor() const override { return end_.get(); }

  private:
    core::Descriptor end_;
};

} // namespace

LockPipes::LockPipes(core::Log& log) : log_(log) {
    char** names = nullptr;
    const int count = sd_listen_fds_with_names(1, &names);
    for (int i = 0; i < count; ++i) {
        core::Descriptor end(SD_LISTEN_FDS_START + i);
        const auto number = numberIn(names[i]);
        if (number)
            hold(*number, std::move(end), true);
        ::free(names[i]);
    }
    ::free(names);
}

void LockPipes::hold(std::uint64_t number, core::Descriptor end, bool stored) {
    stored_ += stored ? 1 : 0;
    const int fd = end.get();
    held_[number] = {std::move(end), GlibLoop::onHangup(fd, [this, number] { listener_(number); }),
                     stored};
}

std::unique_ptr<core::LockEnd> LockPipes::open(std::uint64_t number) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) < 0)
        core::fail(core::ErrorCode::LimitsExceeded,
                   "no descriptor is left for a lock: {}; try again later", std::strerror(errno));
    auto writing = std::make_unique<WritingEnd>(core::Descriptor(ends[1]));
    hold(number, core::Descriptor(ends[0]), false);
    store(number, held_.at(number));
    return writing;
}

void LockPipes::store(std::uint64_t number, Held& held) {
    if (stored_ >= maxStored) {
        log_.warning("lock {} will not outlive a restart: {} are kept already", number, stored_);
        return;
    }
    const int fd = held.end.get();
    const std::string message = fmt::format("FDSTORE=1\nFDNAME={}", nameOf(number));
    if (sd_pid_notify_with_fds(0, 0, message.c_str(), &fd, 1) <= 0)
        return; // not run by systemd, or systemd does not store descriptors
    held.stored = true;
    ++stored_;
}

void LockPipes::close(std::uint64_t number) {
    const auto node = held_.extract(number);
    if (node.empty() || !node.mapped().stored)
        return;
    --stored_;
    sd_notify(0, fmt::format("FDSTOREREMOVE=1\nFDNAME={}", nameOf(number)).c_str());
}

std::set<std::uint64_t> LockPipes::found() {
    std::set<std::uint64_t> numbers;
    for (const auto& [number, held] : held_)
        numbers.insert(number);
    return numbers;
}

bool LockPipes::isReleased(std::uint64_t number) const {
    pollfd asked{held_.at(number).end.get(), 0, 0};
    return ::poll(&asked, 1, 0) > 0 && (asked.revents & POLLHUP) != 0;
}

} // namespace genv::service
