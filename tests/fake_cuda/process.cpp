// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/fake_cuda/process.hpp"

#include "tests/fake_cuda/faults.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace genv::fake_cuda {

Process& Process::instance() {
    static auto* const process = new Process; // NOLINT(cppcoreguidelines-owning-memory): see above
    return *process;
}

Result Process::init() {
    std::unique_lock lock(mutex_);
    if (!gpus_.empty())
        return Result::Success;
    gpus_ = visibleGpus();
    if (gpus_.empty())
        return Result::NoDevice;
    startThread();
    return Result::Success;
}

void Process::runKernel(std::chrono::nanoseconds time) {
    kernelsEnd_ = std::max(kernelsEnd_, Clock::now()) + time;
}

Result Process::synchronize() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return state_ == State::Running && !isLocking_; });
    while (Clock::now() < kernelsEnd_)
        changed_.wait_until(lock, kernelsEnd_);
    return Result::Success;
}

void Process::startThread() {
    std::array<int, 2> commands{};
    std::array<int, 2> replies{};
    if (::pipe2(commands.data(), O_CLOEXEC) < 0 || ::pipe2(replies.data(), O_CLOEXEC) < 0)
        std::abort();
    commands_ = commands[0];
    replies_ = replies[1];
    // Signals are for the program's own threads.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread thread([this] { serve(); });
    std::array<char, 16> name{}; // the kernel's limit
    std::snprintf(name.data(), name.size(), threadName, commands_, replies_);
    ::pthread_setname_np(thread.native_handle(), name.data()); // it can be found from now on
    thread.detach();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Process::serve() {
    for (Command command{};;) {
        if (::read(commands_, &command, sizeof command) != sizeof command)
            std::abort();
        noteCall(nameOf(command.call));
        const Reply reply = carryOut(command);
        noteCall("end");
        if (::write(replies_, &reply, sizeof reply) != sizeof reply)
            std::abort();
    }
}

Reply Process::carryOut(const Command& command) {
    const TargetFault fault = awaitFault(command.call);
    const auto result = [&] {
        isLost_ |= fault.isLost;
        if (fault.result)
            return static_cast<Result>(*fault.result);
        if (isLost_)
            return Result::OperatingSystem;
        switch (command.call) {
        case Call::GetState:
            return Result::Success;
        case Call::Lock:
            return lock(std::chrono::milliseconds{command.timeoutMs});
        case Call::Checkpoint:
            return checkpoint();
        case Call::Restore:
            return restore();
        case Call::Unlock:
            return unlock();
        }
        return Result::InvalidValue;
    }();
    return {command.id, static_cast<int>(result), fault.state.value_or(static_cast<int>(state_))};
}

Result Process::lock(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    if (state_ != State::Running)
        return Result::IllegalState;
    const auto deadline = timeout.count() > 0 ? Clock::now() + timeout : Clock::time_point::max();
    isLocking_ = true;
    while (Clock::now() < std::min(deadline, kernelsEnd_))
        changed_.wait_until(lock, std::min(deadline, kernelsEnd_));
    isLocking_ = false;
    if (Clock::now() < kernelsEnd_) {
        changed_.notify_all();
        return Result::NotReady;
    }
    state_ = State::Locked;
    return Result::Success;
}

Result Process::checkpoint() {
    const std::unique_lock lock(mutex_);
    if (state_ != State::Locked)
        return Result::IllegalState;
    if (isManaged_)
        return Result::NotSupported;
    for (Gpu& gpu : gpus_) {
        if (const Result result = gpu.park(); result != Result::Success)
            return result;
    }
    state_ = State::Checkpointed;
    return Result::Success;
}

Result Process::restore() {
    const std::unique_lock lock(mutex_);
    if (state_ != State::Checkpointed)
        return Result::IllegalState;
    // Without the right to open a GPU, nothing is lost.
    for (Gpu& gpu : gpus_) {
        if (!gpu.open() && gpu.hasContext())
            return Result::NotSupported;
    }
    for (Gpu& gpu : gpus_) {
        const Result result = gpu.restore();
        isLost_ |= result == Result::OutOfMemory; // the fault of the real driver
        if (result != Result::Success)
            return result;
    }
    state_ = State::Locked;
    return Result::Success;
}

Result Process::unlock() {
    const std::unique_lock lock(mutex_);
    if (state_ != State::Locked)
        return Result::IllegalState;
    state_ = State::Running;
    changed_.notify_all();
    return Result::Success;
}

} // namespace genv::fake_cuda
