// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/loop/worker.hpp"

#include <pthread.h>
#include <signal.h>

namespace genv::service {

Worker::Worker(const std::string& name, Post post)
    : post_(std::move(post)), alive_(std::make_shared<bool>(true)) {
    // Only the loop's thread handles signals. A new thread inherits the signal mask of its creator,
    // so block all signals while creating it.
    sigset_t all{};
    sigset_t before{};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { loop(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread_.native_handle(), name.c_str());
}

Worker::~Worker() {
    *alive_ = false;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        jobs_.clear();
    }
    changed_.notify_one();
    thread_.join();
}

void Worker::submit(std::function<void()> job) {
    {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
}

void Worker::loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
        if (stopping_)
            return;
        auto job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
        job = nullptr;
        lock.lock();
    }
}

} // namespace genv::service
