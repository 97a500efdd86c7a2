// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-watch: tells a user why the command of "genvctl run" was ended, and which of its children
// keep its GPUs. The command has replaced genvctl in its process, so this needs another process,
// which is no child of the command: the process that started this one has exited.
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
#include "client/watch/status_watch.hpp"

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

using genv::watch::StatusWatch;

constexpr int commandDescriptor = STDERR_FILENO + 1;

// genvd decides so soon after the end of a command whether the environment ends. A program that
// reads the command's standard error waits for this.
constexpr std::int64_t settlingMilliseconds = 1000;

std::int64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * std::int64_t{1000} + time.tv_nsec / 1'000'000;
}

// Writes the new sentences. Returns false if there will be no more.
bool report(StatusWatch& watch) {
    return watch.report([](std::string_view id, const genv::watch::Sentence& sentence) {
        genv::watch::write(STDERR_FILENO, id, sentence);
    });
}

enum class Woken { ByChange, ByEnd, ByTime };

Woken wait(const StatusWatch& watch, bool watchesCommand, int milliseconds) {
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
bool watchCommand(StatusWatch& watch) {
    for (;;) {
        watch.follow();
        if (!report(watch))
            return false;
        Woken woken = wait(watch, true, -1);
        if (woken == Woken::ByChange) {
            watch.drain();
            woken = wait(watch, true, genv::watch::completionMilliseconds) == Woken::ByEnd
                        ? Woken::ByEnd
                        : Woken::ByChange;
        }
        if (woken == Woken::ByEnd)
            return true;
    }
}

// Until it is decided whether the environment ends with the command.
void watchSettling(StatusWatch& watch) {
    const std::int64_t end = now() + settlingMilliseconds;
    for (;;) {
        watch.follow();
        if (!report(watch) || watch.hasReportedKeptDevices())
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
    StatusWatch watch(arguments[1], arguments[2], *seen, *start);
    if (watchCommand(watch))
        watchSettling(watch);
    return 0;
}
