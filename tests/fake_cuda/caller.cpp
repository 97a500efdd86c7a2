// SPDX-License-Identifier: LGPL-2.1-or-later
// The side of the process that calls cuCheckpointProcess*() for another one.
#include "service/park/cuda_abi.hpp"
#include "tests/fake_cuda/channel.hpp"
#include "tests/fake_cuda/export.hpp"
#include "tests/fake_cuda/faults.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

using namespace genv::fake_cuda;
using genv::service::cuda::Result;

namespace {

class File {
  public:
    explicit File(int fd) : fd_(fd) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (fd_ >= 0)
            ::close(fd_);
    }
    [[nodiscard]] int get() const { return fd_; }

  private:
    int fd_;
};

struct Pipes {
    int commands = -1;
    int replies = -1;
};

std::optional<Pipes> pipesOf(const std::string& process) {
    std::error_code failed;
    for (const auto& thread : std::filesystem::directory_iterator(process + "/task", failed)) {
        std::string name;
        std::ifstream file(thread.path() / "comm");
        std::getline(file, name);
        Pipes pipes;
        if (std::sscanf(name.c_str(), threadName, &pipes.commands, &pipes.replies) == 2)
            return pipes;
    }
    return std::nullopt;
}

std::uint64_t nextId() {
    static std::atomic<std::uint32_t> count{0};
    return (static_cast<std::uint64_t>(::getpid()) << 32U) | ++count;
}

// Returns the target's reply, or why there is none.
Reply exchange(int pid, Call call, std::uint32_t timeoutMs) {
    const Reply osError{0, static_cast<int>(Result::OperatingSystem), 0};
    const std::string process = "/proc/" + std::to_string(pid);
    if (::access(process.c_str(), F_OK) < 0)
        return osError;
    const auto pipes = pipesOf(process);
    if (!pipes)
        return {0, static_cast<int>(Result::NotInitialized), 0};
    const auto open = [&](int number, int flags) {
        return ::open((process + "/fd/" + std::to_string(number)).c_str(), flags | O_CLOEXEC);
    };
    const File commands(open(pipes->commands, O_WRONLY));
    const File replies(open(pipes->replies, O_RDONLY));
    if (commands.get() < 0 || replies.get() < 0 || ::flock(commands.get(), LOCK_EX) < 0)
        return osError;
    const Command command{nextId(), call, timeoutMs};
    if (::write(commands.get(), &command, sizeof command) != sizeof command)
        return osError;
    for (Reply reply{};;) {
        if (::read(replies.get(), &reply, sizeof reply) != sizeof reply)
            return osError;
        if (reply.id == command.id)
            return reply;
    }
}

[[maybe_unused]] Result change(int pid, Call call, std::uint32_t timeoutMs = 0) {
    if (const auto fault = callerFault(nameOf(call)))
        return static_cast<Result>(*fault);
    return static_cast<Result>(exchange(pid, call, timeoutMs).result);
}

// Of the library, before any function is called.
[[gnu::constructor]] void load() {
    callerFault("load");
}

} // namespace

FAKE_CUDA_EXPORT Result cuDriverGetVersion(int* version) {
    if (const auto fault = callerFault("cuDriverGetVersion"))
        return static_cast<Result>(*fault);
    *version = 13000;
    return Result::Success;
}

#ifndef FAKE_CUDA_OLD
using genv::service::cuda::LockArguments;
using genv::service::cuda::NoArguments;
using genv::service::cuda::ProcessState;

FAKE_CUDA_EXPORT Result cuCheckpointProcessGetState(int pid, ProcessState* state) {
    if (const auto fault = callerFault(nameOf(Call::GetState)))
        return static_cast<Result>(*fault);
    const Reply reply = exchange(pid, Call::GetState, 0);
    if (reply.result == 0)
        *state = static_cast<ProcessState>(reply.state);
    return static_cast<Result>(reply.result);
}

FAKE_CUDA_EXPORT Result cuCheckpointProcessLock(int pid, LockArguments* arguments) {
    return change(pid, Call::Lock, arguments->timeoutMs);
}

FAKE_CUDA_EXPORT Result cuCheckpointProcessCheckpoint(int pid, NoArguments*) {
    return change(pid, Call::Checkpoint);
}

FAKE_CUDA_EXPORT Result cuCheckpointProcessRestore(int pid, NoArguments*) {
    return change(pid, Call::Restore);
}

FAKE_CUDA_EXPORT Result cuCheckpointProcessUnlock(int pid, NoArguments*) {
    return change(pid, Call::Unlock);
}
#endif
