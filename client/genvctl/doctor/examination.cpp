// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/doctor/examination.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/system_bus.hpp"
#include "client/genvctl/terminal/json.hpp"
#include "core/base/parent_end.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace genv::ctl::doctor {

namespace {

using Clock = std::chrono::steady_clock;

DoctorFinding look(const DoctorCheck& check, const SystemPlaces& places) {
    try {
        return check.look(places);
    } catch (const NoBus&) {
        return {DoctorVerdict::Warning, "not checked: the system bus does not answer",
                "The line \"bus\" says what to do."};
    } catch (const std::exception& error) {
        return {DoctorVerdict::Warning, fmt::format("not checked: {}", error.what()),
                "Run it again as root."};
    }
}

[[noreturn]] void answer(const DoctorCheck& check, const SystemPlaces& places, int descriptor) {
    const DoctorFinding finding = look(check, places);
    const Json json{{"verdict", static_cast<int>(finding.verdict)},
                    {"found", finding.found},
                    {"advice", finding.advice}};
    const std::string text = jsonText(json, false);
    std::string_view rest = text;
    while (!rest.empty()) {
        const ssize_t count = write(descriptor, rest.data(), rest.size());
        if (count <= 0)
            break;
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
    _exit(0);
}

// A running check. It ends when its process ends.
class Running {
  public:
    Running(const DoctorCheck& check, const SystemPlaces& places) {
        std::array<int, 2> ends{-1, -1};
        if (pipe2(ends.data(), O_CLOEXEC) < 0)
            throw Failure(ExitStatus::Failed, fmt::format("pipe: {}", std::strerror(errno)));
        const pid_t parent = getpid();
        pid_ = fork();
        if (pid_ == 0) {
            close(ends[0]);
            // Uses its own process group, so that the children of the check end with it.
            setpgid(0, 0);
            if (!core::endWithParent(parent, SIGKILL))
                _exit(1);
            answer(check, places, ends[1]);
        }
        const int error = errno;
        close(ends[1]);
        descriptor_ = ends[0];
        if (pid_ < 0) {
            close(descriptor_);
            throw Failure(ExitStatus::Failed, fmt::format("fork: {}", std::strerror(error)));
        }
        setpgid(pid_, pid_); // both processes call setpgid(), so their order does not matter
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    Running(Running&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)), descriptor_(std::exchange(other.descriptor_, -1)) {}
    Running& operator=(Running&&) = delete;
    ~Running() {
        if (pid_ <= 0)
            return;
        close(descriptor_);
        kill(-pid_, SIGKILL);
        // Does not wait for a process that hangs in the kernel; the process ends when the kernel
        // releases it.
        waitpid(pid_, nullptr, WNOHANG);
    }

    /// Reads the output of the check until it ends or until the deadline. The output of a check
    /// that has already ended is read even after the deadline.
    DoctorFinding finding(Clock::time_point deadline) {
        std::string text;
        for (;;) {
            const int ready = waitUntil(deadline);
            if (ready == 0)
                return {DoctorVerdict::Problem,
                        "no answer in time: something that this check asks hangs",
                        "Run it again; if that repeats, look at \"dmesg\" and at mounts of other "
                        "machines."};
            if (ready < 0)
                continue;
            std::array<char, 4096> chunk{};
            const ssize_t count = read(descriptor_, chunk.data(), chunk.size());
            if (count < 0 && errno == EINTR)
                continue;
            if (count <= 0)
                return parsed(text);
            text.append(chunk.data(), static_cast<std::size_t>(count));
        }
    }

  private:
    [[nodiscard]] int waitUntil(Clock::time_point deadline) const {
        const auto remaining =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
        pollfd readable{descriptor_, POLLIN, 0};
        return poll(&readable, 1, static_cast<int>(std::max<std::int64_t>(remaining.count(), 0)));
    }

    static DoctorFinding parsed(const std::string& text) {
        const Json json = Json::parse(text, nullptr, false);
        if (!json.is_object())
            return {DoctorVerdict::Problem, "the check crashed", "Report this as a fault of genv."};
        return {static_cast<DoctorVerdict>(json.at("verdict").get<int>()),
                json.at("found").get<std::string>(), json.at("advice").get<std::string>()};
    }

    pid_t pid_ = -1;
    int descriptor_ = -1;
};

} // namespace

std::vector<DoctorFinding> examine(const std::vector<DoctorCheck>& checks,
                                   const SystemPlaces& places, std::chrono::milliseconds deadline) {
    const auto until = Clock::now() + deadline;
    std::vector<Running> running;
    running.reserve(checks.size());
    for (const DoctorCheck& check : checks)
        running.emplace_back(check, places);
    std::vector<DoctorFinding> findings;
    for (Running& each : running)
        findings.push_back(each.finding(until));
    return findings;
}

} // namespace genv::ctl::doctor
