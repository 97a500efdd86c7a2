// SPDX-License-Identifier: LGPL-2.1-or-later
// CUDA in a process that uses it: its GPUs, and the gate through which each call of the program
// goes. While the process is locked, calls wait. A thread carries out the commands of
// cuCheckpointProcess*(), which come through pipes (channel.hpp).
#pragma once

#include "tests/fake_cuda/channel.hpp"
#include "tests/fake_cuda/gpus.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace genv::fake_cuda {

class Process {
  public:
    /// The process's only one. It lives as long as the process, since its thread does.
    static Process& instance();

    Result init();

    /// Calls a function with the process, as soon as it is not locked.
    template <typename Function>
    Result call(Function function) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return state_ == State::Running && !isLocking_; });
        return function(*this);
    }

    std::vector<Gpu>& gpus() { return gpus_; }
    std::size_t current = 0; ///< the number of the GPU with the current context
    void useManagedMemory() { isManaged_ = true; }
    /// A kernel runs for this long, after those before it.
    void runKernel(std::chrono::nanoseconds time);
    /// Waits for the kernels.
    Result synchronize();

  private:
    using Clock = std::chrono::steady_clock;
    using State = service::cuda::ProcessState;

    void startThread();
    [[noreturn]] void serve();
    Reply carryOut(const Command& command);
    Result lock(std::chrono::milliseconds timeout);
    Result checkpoint();
    Result restore();
    Result unlock();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Gpu> gpus_;
    State state_ = State::Running;
    bool isLocking_ = false;
    bool isManaged_ = false;
    bool isLost_ = false;
    Clock::time_point kernelsEnd_;
    int commands_ = -1;
    int replies_ = -1;
};

} // namespace genv::fake_cuda
