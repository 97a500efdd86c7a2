// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/request_worker.hpp"

#include "client/top/operations.hpp"

#include <utility>

namespace genv::top {

RequestWorker::RequestWorker(Mailbox& mailbox, std::optional<remote::Host> host,
                             bool mayAskPassword)
    : mailbox_(mailbox), host_(std::move(host)), mayAskPassword_(mayAskPassword) {}

void RequestWorker::submit(Request request) {
    const std::scoped_lock lock(mutex_);
    requests_.push_back(std::move(request));
    if (!thread_)
        thread_.emplace([this](int stop) { run(stop); });
    changed_.notify_one();
}

bool RequestWorker::isBusy() {
    const std::scoped_lock lock(mutex_);
    return !requests_.empty();
}

void RequestWorker::stop() {
    const std::scoped_lock lock(mutex_);
    stops_ = true;
    if (thread_)
        thread_->stop();
    changed_.notify_one();
}

bool RequestWorker::endsWithin(std::chrono::milliseconds time) const {
    return !thread_ || thread_->endsWithin(time);
}

void RequestWorker::run(int stop) {
    Operations operations(mailbox_, host_, mayAskPassword_, stop);
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return stops_ || !requests_.empty(); });
        if (stops_)
            return;
        const Request request = requests_.front();
        lock.unlock();
        operations.carryOut(request);
        lock.lock();
        requests_.pop_front();
    }
}

} // namespace genv::top
