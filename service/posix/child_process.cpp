// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/posix/child_process.hpp"

#include "core/base/glibc_pidfd.hpp"
#include "service/posix/descriptor_wait.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <string_view>
#include <system_error>

namespace genv::service {

namespace {

void check(int error, const char* what) {
    if (error != 0)
        throw std::system_error(error, std::generic_category(), what);
}

// The two initialized objects that posix_spawn(3) takes.
class SpawnSetup {
  public:
    explicit SpawnSetup(int stream) {
        check(::posix_spawn_file_actions_init(&actions), "posix_spawn_file_actions_init");
        check(::posix_spawnattr_init(&attributes), "posix_spawnattr_init");
        check(::posix_spawn_file_actions_adddup2(&actions, stream, STDIN_FILENO), "dup2");
        check(::posix_spawn_file_actions_adddup2(&actions, stream, STDOUT_FILENO), "dup2");
        check(::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1), "closefrom");
        // The service may block and ignore signals. Reset them, because children would inherit
        // this.
        sigset_t none;
        sigset_t all;
        ::sigemptyset(&none);
        ::sigfillset(&all);
        check(::posix_spawnattr_setsigmask(&attributes, &none), "sigmask");
        check(::posix_spawnattr_setsigdefault(&attributes, &all), "sigdefault");
        check(::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                          POSIX_SPAWN_SETSIGDEF),
              "flags");
    }
    SpawnSetup(const SpawnSetup&) = delete;
    SpawnSetup& operator=(const SpawnSetup&) = delete;
    ~SpawnSetup() {
        ::posix_spawn_file_actions_destroy(&actions);
        ::posix_spawnattr_destroy(&attributes);
    }

    posix_spawn_file_actions_t actions{};
    posix_spawnattr_t attributes{};
};

// Returns whether a variable belongs to the protocol between systemd and the service: sd_notify(3),
// sd_listen_fds(3) and sd_watchdog_enabled(3).
bool isServiceOnly(std::string_view variable) {
    constexpr std::array<std::string_view, 6> names{
        "NOTIFY_SOCKET=", "WATCHDOG_PID=", "WATCHDOG_USEC=",
        "LISTEN_PID=",    "LISTEN_FDS=",   "LISTEN_FDNAMES="};
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return variable.starts_with(name); });
}

pid_t spawn(const std::filesystem::path& program, const std::vector<std::string>& arguments,
            int stream, ChildProcess::Variables inherited) {
    std::string path = program.string();
    std::vector<std::string> copies = arguments;
    std::vector<char*> argv{path.data()};
    for (std::string& argument : copies)
        argv.push_back(argument.data());
    argv.push_back(nullptr);
    std::vector<char*> environment;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        if (inherited == ChildProcess::Variables::Inherited && !isServiceOnly(*variable))
            environment.push_back(*variable);
    }
    environment.push_back(nullptr);
    const SpawnSetup setup(stream);
    pid_t pid = -1;
    check(::posix_spawn(&pid, path.c_str(), &setup.actions, &setup.attributes, argv.data(),
                        environment.data()),
          "posix_spawn");
    return pid;
}

// Opens a pidfd of a child of this process. Nothing else reaps it, so its PID cannot be reused.
core::Descriptor openPidfd(pid_t pid) {
    core::Descriptor pidfd(::pidfd_open(pid, 0));
    if (pidfd.get() < 0) {
        const int error = errno;
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, WNOHANG);
        check(error, "pidfd_open");
    }
    return pidfd;
}

std::string describe(const siginfo_t& info) {
    if (info.si_code == CLD_EXITED)
        return fmt::format("exited with status {}", info.si_status);
    return fmt::format("ended by signal {} ({})", info.si_status, ::strsignal(info.si_status));
}

} // namespace

ChildProcess::ChildProcess(const std::filesystem::path& program,
                           const std::vector<std::string>& arguments, int stream,
                           Variables variables)
    : pid_(spawn(program, arguments, stream, variables)), pidfd_(openPidfd(pid_)),
      status_(::open(fmt::format("/proc/{}/status", pid_).c_str(), O_RDONLY | O_CLOEXEC)) {}

ChildProcess::~ChildProcess() {
    if (pidfd_.get() < 0 || end_)
        return;
    kill();
    reap(std::chrono::seconds{1});
}

void ChildProcess::kill() const noexcept {
    ::pidfd_send_signal(pidfd_.get(), SIGKILL, nullptr, 0);
}

std::optional<std::uint64_t> ChildProcess::sleep() const {
    std::array<char, 4096> text{};
    const ssize_t size = ::pread(status_.get(), text.data(), text.size(), 0);
    const std::string_view status(text.data(),
                                  static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    // The process name comes before these lines. The kernel escapes it, so it cannot forge a line.
    const auto after = [&](std::string_view key) {
        const auto line = status.find(key);
        return line == std::string_view::npos ? std::string_view()
                                              : status.substr(line + key.size());
    };
    const std::string_view state = after("\nState:\t");
    const std::string_view switches = after("\nvoluntary_ctxt_switches:\t");
    std::uint64_t number = 0;
    if ((!state.starts_with('S') && !state.starts_with('D')) ||
        std::from_chars(switches.data(), switches.data() + switches.size(), number).ec !=
            std::errc{})
        return std::nullopt;
    return number;
}

const std::optional<std::string>& ChildProcess::reap(std::chrono::milliseconds timeout) {
    if (end_ || !becomesReadable(pidfd_.get(), std::chrono::steady_clock::now() + timeout))
        return end_;
    siginfo_t info{};
    if (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG) < 0)
        end_ = "ended";
    else if (info.si_pid != 0)
        end_ = describe(info);
    return end_;
}

} // namespace genv::service
