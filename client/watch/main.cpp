// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-watch: tells a user why the command of "genvctl run" was ended, and which of its children
// keep its GPUs. The command has replaced genvctl in its process, so this needs another process. It
// is not a child of the command.
//
// It runs as long as the command, perhaps for weeks, and there may be hundreds of it. So it has no
// connection to the bus and uses no library but libc: it waits on the command's pidfd and reads the
// status file of the environment, in which genvd writes the sentences for users
// (service/shell/shell_files.hpp). A new sentence goes to standard error, which is the command's.
//
// usage: genv-watch STATUS-FILE ID SEQUENCE START
// The command's pidfd is descriptor 3. SEQUENCE and START are the numbers in the first line of the
// file when the command started: sentences up to SEQUENCE are known to the user, and another START
// is another environment with the same id.
#include "client/watch/status.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <string_view>

namespace {

using genv::watch::Status;

constexpr int commandDescriptor = STDERR_FILENO + 1;

// A sentence may be completed soon after it was written, with the name of an administrator.
constexpr int completionMilliseconds = 200;

// genvd decides so soon after the end of a command whether the environment ends. A program that
// reads the command's standard error waits for this.
constexpr std::int64_t settlingMilliseconds = 1000;

std::int64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * std::int64_t{1000} + time.tv_nsec / 1'000'000;
}

// Holds the file's text; a status file has at most eight sentences.
std::array<char, 16384> buffer;

// Reads the file. Returns false if it is gone.
bool readFile(const char* path, std::string_view& text) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    std::size_t size = 0;
    while (size < buffer.size()) {
        const ssize_t count = read(file, buffer.data() + size, buffer.size() - size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        size += static_cast<std::size_t>(count);
    }
    close(file);
    text = {buffer.data(), size};
    return true;
}

/// Reads the file after each change, and writes new sentences.
class Watch {
  public:
    Watch(const char* path, std::string_view id, std::uint64_t seen, std::uint64_t start)
        : path_(path), id_(id), seen_(seen), start_(start), changes_(inotify_init1(IN_CLOEXEC)) {}

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

    /// Writes the new sentences. Returns false if there will be no more.
    bool report() {
        std::string_view text;
        if (!readFile(path_, text))
            return false;
        Status status(text);
        if (status.start() != 0 && status.start() != start_)
            return false;
        while (const auto sentence = status.next()) {
            if (sentence->sequence <= seen_ || genv::watch::isAboutTheWait(sentence->text) ||
                genv::watch::isAboutARefusal(sentence->text))
                continue;
            genv::watch::write(STDERR_FILENO, id_, *sentence);
            keeps_ = keeps_ || genv::watch::isAboutKeptDevices(sentence->text);
        }
        seen_ = status.sequence() > seen_ ? status.sequence() : seen_;
        return status.start() != 0;
    }

    /// Whether the user knows that children of the command keep its GPUs.
    [[nodiscard]] bool hasReportedKeptDevices() const { return keeps_; }

  private:
    const char* path_;
    std::string_view id_;
    std::uint64_t seen_;
    std::uint64_t start_;
    int changes_;
    bool keeps_ = false;
};

enum class Woken { ByChange, ByEnd, ByTime };

Woken wait(const Watch& watch, bool watchesCommand, int milliseconds) {
    std::array<pollfd, 2> descriptors{pollfd{watch.descriptor(), POLLIN, 0},
                                      pollfd{watchesCommand ? commandDescriptor : -1, POLLIN, 0}};
    while (poll(descriptors.data(), descriptors.size(), milliseconds) < 0) {
        if (errno != EINTR)
            return Woken::ByEnd;
    }
    if (descriptors[1].revents != 0)
        return Woken::ByEnd;
    return descriptors[0].revents != 0 ? Woken::ByChange : Woken::ByTime;
}

// Until the command ends. Returns false if the environment ended before.
bool watchCommand(Watch& watch) {
    for (;;) {
        watch.follow();
        if (!watch.report())
            return false;
        Woken woken = wait(watch, true, -1);
        if (woken == Woken::ByChange) {
            watch.drain();
            woken = wait(watch, true, completionMilliseconds) == Woken::ByEnd ? Woken::ByEnd
                                                                              : Woken::ByChange;
        }
        if (woken == Woken::ByEnd)
            return true;
    }
}

// Until it is decided whether the environment ends with the command.
void watchSettling(Watch& watch) {
    const std::int64_t end = now() + settlingMilliseconds;
    for (;;) {
        watch.follow();
        if (!watch.report() || watch.hasReportedKeptDevices())
            return;
        const std::int64_t remaining = end - now();
        if (remaining <= 0 || wait(watch, false, static_cast<int>(remaining)) == Woken::ByTime)
            return;
        watch.drain();
    }
}

} // namespace

int main(int count, char** arguments) {
    const auto seen = count == 5 ? genv::watch::parseNumber(arguments[3]) : std::nullopt;
    const auto start = count == 5 ? genv::watch::parseNumber(arguments[4]) : std::nullopt;
    if (!seen || !start || fcntl(commandDescriptor, F_GETFD) < 0) {
        constexpr std::string_view usage = "genv-watch: started by \"genvctl run\", with the pidfd "
                                           "of its command as descriptor 3\n";
        [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, usage.data(), usage.size());
        return 2;
    }
    signal(SIGPIPE, SIG_IGN); // the reader of the command's standard error may be gone
    Watch watch(arguments[1], arguments[2], *seen, *start);
    if (watchCommand(watch))
        watchSettling(watch);
    return 0;
}
