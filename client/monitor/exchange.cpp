// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/exchange.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace genv::monitor {

Exchange::Exchange(std::chrono::nanoseconds oldest, std::chrono::nanoseconds patience)
    : oldest_(oldest), patience_(patience), descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (descriptor_ < 0)
        throw std::system_error(errno, std::generic_category(), "eventfd");
}

Exchange::~Exchange() {
    close(descriptor_);
}

bool Exchange::isFresh() const {
    return sample_ && std::chrono::steady_clock::now() - sample_->begun <= oldest_;
}

Exchange::Served Exchange::get() {
    std::unique_lock lock(mutex_);
    if (isFresh())
        return {sample_, counters_};
    if (!requested_) {
        requested_ = true;
        eventfd_write(descriptor_, 1);
    }
    const std::uint64_t before = count_;
    if (!published_.wait_for(lock, patience_, [&] { return count_ != before; }))
        return {nullptr, counters_};
    return {sample_, counters_};
}

bool Exchange::takeRequest() {
    eventfd_t ignored = 0;
    eventfd_read(descriptor_, &ignored);
    const std::lock_guard lock(mutex_);
    return requested_;
}

void Exchange::publish(Sample sample) {
    auto shared = std::make_shared<const Sample>(std::move(sample));
    const std::lock_guard lock(mutex_);
    sample_ = std::move(shared);
    ++count_;
    requested_ = false;
    published_.notify_all();
}

void Exchange::expire() {
    const std::lock_guard lock(mutex_);
    sample_.reset();
}

void Exchange::countAction(const std::string& action, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    ++counters_.actions[{action, reason}];
}

void Exchange::countError() {
    const std::lock_guard lock(mutex_);
    ++counters_.errors;
}

} // namespace genv::monitor
