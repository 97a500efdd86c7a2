// SPDX-License-Identifier: LGPL-2.1-or-later
// Follows the status file of an environment while a command runs in it, for genv-watch and
// genv-job. Header-only and without exceptions, so that genv-watch needs no library but libc.
#pragma once

#include "client/watch/status.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>

namespace genv::watch {

/// A sentence may be completed so soon after it was written, with the name of an administrator.
inline constexpr int completionMilliseconds = 200;

/// Reads the file after each change.
class StatusWatch {
  public:
    /// Sentences up to `seen` are known to the user. Another `start` in the file is that of another
    /// environment with the same id. Path and id must outlive this object.
    StatusWatch(const char* path, std::string_view id, std::uint64_t seen, std::uint64_t start)
        : path_(path), id_(id), seen_(seen), start_(start), changes_(inotify_init1(IN_CLOEXEC)) {}
    StatusWatch(const StatusWatch&) = delete;
    StatusWatch& operator=(const StatusWatch&) = delete;
    ~StatusWatch() { close(changes_); }

    /// Can be read after a change.
    [[nodiscard]] int descriptor() const { return changes_; }

    /// Watches the present file. It is replaced with each change.
    void follow() const {
        // The file may be replaced at once, so it is read only after this.
        inotify_add_watch(changes_, path_,
                          IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_MODIFY | IN_ONESHOT);
    }

    /// Takes the events that have arrived.
    void drain() const {
        std::array<char, 4096> events; // NOLINT(cppcoreguidelines-pro-type-member-init)
        [[maybe_unused]] const ssize_t count = read(changes_, events.data(), events.size());
    }

    /// Calls write(id, sentence) for each new sentence that concerns a running command. Returns
    /// false if there will be no more.
    template <typename Write>
    bool report(Write write) {
        std::string_view text;
        if (!readFile(text))
            return false;
        Status status(text);
        if (status.start() != 0 && status.start() != start_)
            return false;
        while (const auto sentence = status.next()) {
            if (sentence->sequence <= seen_ || isAboutTheWait(sentence->text) ||
                isAboutARefusal(sentence->text))
                continue;
            write(id_, *sentence);
            keeps_ = keeps_ || isAboutKeptDevices(sentence->text);
        }
        seen_ = status.sequence() > seen_ ? status.sequence() : seen_;
        return status.start() != 0;
    }

    /// Whether the user knows that children of the command keep its GPUs.
    [[nodiscard]] bool hasReportedKeptDevices() const { return keeps_; }

  private:
    // Returns false if the file is gone.
    bool readFile(std::string_view& text) {
        const int file = open(path_, O_RDONLY | O_CLOEXEC);
        if (file < 0)
            return false;
        std::size_t size = 0;
        while (size < buffer_.size()) {
            const ssize_t count = read(file, buffer_.data() + size, buffer_.size() - size);
            if (count < 0 && errno == EINTR)
                continue;
            if (count <= 0)
                break;
            size += static_cast<std::size_t>(count);
        }
        close(file);
        text = {buffer_.data(), size};
        return true;
    }

    const char* path_;
    std::string_view id_;
    std::uint64_t seen_;
    std::uint64_t start_;
    int changes_;
    bool keeps_ = false;
    std::array<char, 16384> buffer_{}; ///< a status file has at most eight sentences
};

} // namespace genv::watch
