// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/slurm/slurm_program.hpp"

#include "core/base/descriptor.hpp"
#include "service/posix/descriptor_wait.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace genv::service {

namespace {

using Clock = std::chrono::steady_clock;

void requireSpawn(int error, const std::filesystem::path& program) {
    if (error != 0)
        throw SlurmProgramError(fmt::format("{} cannot be started: {}", program.string(),
                                            std::generic_category().message(error)));
}

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

// The two objects that posix_spawn(3) takes. The program gets an empty standard input, one pipe for
// all of its output, its own process group, and no blocked or ignored signals.
class ProgramSetup {
  public:
    ProgramSetup(const std::filesystem::path& program, int output) {
        requireSpawn(::posix_spawn_file_actions_init(&actions), program);
        requireSpawn(::posix_spawnattr_init(&attributes), program);
        requireSpawn(
            ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0),
            program);
        for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
            requireSpawn(::posix_spawn_file_actions_adddup2(&actions, output, fd), program);
        requireSpawn(::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1),
                     program);
        sigset_t none;
        sigset_t all;
        ::sigemptyset(&none);
        ::sigfillset(&all);
        ::posix_spawnattr_setsigmask(&attributes, &none);
        ::posix_spawnattr_setsigdefault(&attributes, &all);
        ::posix_spawnattr_setpgroup(&attributes, 0);
        requireSpawn(::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP |
                                                                 POSIX_SPAWN_SETSIGMASK |
                                                                 POSIX_SPAWN_SETSIGDEF),
                     program);
    }
    ProgramSetup(const ProgramSetup&) = delete;
    ProgramSetup& operator=(const ProgramSetup&) = delete;
    ~ProgramSetup() {
        ::posix_spawn_file_actions_destroy(&actions);
        ::posix_spawnattr_destroy(&attributes);
    }

    posix_spawn_file_actions_t actions{};
    posix_spawnattr_t attributes{};
};

// A running program. The destructor ends it and its process group. Only its parent reaps it, so its
// PID cannot be reused before that.
class RunningProgram {
  public:
    RunningProgram(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                   std::vector<std::string> environment)
        : name_(program.filename()) {
        std::array<int, 2> ends{-1, -1};
        requireSpawn(::pipe2(ends.data(), O_CLOEXEC) < 0 ? errno : 0, program);
        output_ = core::Descriptor(ends[0]);
        const core::Descriptor own(ends[1]);
        std::vector<std::string> argv{program.string()};
        argv.insert(argv.end(), arguments.begin(), arguments.end());
        const ProgramSetup setup(program, own.get());
        requireSpawn(::posix_spawn(&pid_, program.c_str(), &setup.actions, &setup.attributes,
                                   pointersTo(argv).data(), pointersTo(environment).data()),
                     program);
    }
    RunningProgram(const RunningProgram&) = delete;
    RunningProgram& operator=(const RunningProgram&) = delete;
    ~RunningProgram() {
        if (reaped_)
            return;
        ::kill(-pid_, SIGKILL);
        ::waitpid(pid_, nullptr, WNOHANG); // if it hangs in the kernel, init reaps it later
    }

    /// Reads until the end of the pipe.
    std::string readOutput(const SlurmProgramBounds& bounds, Clock::time_point deadline) {
        std::string output;
        std::array<char, 4096> chunk{};
        while (becomesReadable(output_.get(), deadline)) {
            const ssize_t count = ::read(output_.get(), chunk.data(), chunk.size());
            if (count < 0 && errno == EINTR)
                continue;
            if (count <= 0)
                return output;
            output.append(chunk.data(), static_cast<std::size_t>(count));
            if (output.size() > bounds.maxOutput)
                throw SlurmProgramError(
                    fmt::format("{} printed more than {} KiB", name_, bounds.maxOutput / 1024));
        }
        failLate(bounds);
    }

    /// Returns the exit status.
    int wait(const SlurmProgramBounds& bounds, Clock::time_point deadline) {
        // It has closed its output, so it will exit soon.
        while (!hasEnded()) {
            if (Clock::now() >= deadline)
                failLate(bounds);
            ::usleep(1000);
        }
        ::kill(-pid_, SIGKILL); // its children, too; the group id is valid until it is reaped
        int status = 0;
        ::waitpid(pid_, &status, 0);
        reaped_ = true;
        if (WIFSIGNALED(status))
            throw SlurmProgramError(fmt::format("{} was ended by signal {} ({})", name_,
                                                WTERMSIG(status), ::strsignal(WTERMSIG(status))));
        return WEXITSTATUS(status);
    }

  private:
    [[nodiscard]] bool hasEnded() const {
        siginfo_t info{};
        return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
               info.si_pid != 0;
    }
    [[noreturn]] void failLate(const SlurmProgramBounds& bounds) const {
        const auto seconds = std::chrono::duration<double>(bounds.deadline).count();
        throw SlurmProgramError(fmt::format("{} did not answer in {} s", name_, seconds));
    }

    std::string name_;
    core::Descriptor output_;
    pid_t pid_ = -1;
    bool reaped_ = false;
};

} // namespace

SlurmProgramResult runSlurmProgram(const std::filesystem::path& program,
                                   const std::vector<std::string>& arguments,
                                   const std::vector<std::string>& environment,
                                   const SlurmProgramBounds& bounds) {
    const Clock::time_point deadline = Clock::now() + bounds.deadline;
    RunningProgram running(program, arguments, environment);
    SlurmProgramResult result;
    result.output = running.readOutput(bounds, deadline);
    result.status = running.wait(bounds, deadline);
    return result;
}

} // namespace genv::service
