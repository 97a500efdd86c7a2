// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/exchange.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace genv::monitor {

namespace {

// Far more than there are rules. On another machine, the service's reasons are untrusted text.
constexpr std::size_t maxActions = 64;
constexpr std::size_t maxReasonLength = 64;

// Counts under "other" once there are too many names, or if one is too long.
void countBounded(std::map<std::pair<std::string, std::string>, std::uint64_t>& counts,
                  const std::string& first, const std::string& reason) {
    const bool isNew = !counts.contains({first, reason});
    if (isNew && (counts.size() >= maxActions || reason.size() > maxReasonLength))
        ++counts[{first, "other"}];
    else
        ++counts[{first, reason}];
}

} // namespace

Exchange::Exchange(std::chrono::nanoseconds oldest, std::chrono::nanoseconds delay)
    : oldest_(oldest), delay_(delay), descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (descriptor_ < 0)
        throw std::system_error(errno, std::generic_category(), "eventfd");
}

Exchange::~Exchange() {
    close(descriptor_);
}

bool Exchange::isYoungerThan(std::chrono::nanoseconds age) const {
    return sample_ && !isExpired_ && std::chrono::steady_clock::now() - sample_->begun <= age;
}

bool Exchange::isFresh() const {
    return isYoungerThan(oldest_) ||
           (sample_ && !isExpired_ && std::chrono::steady_clock::now() < sample_->standsUntil);
}

Exchange::Ticket Exchange::request() {
    const std::lock_guard lock(mutex_);
    if (isFresh())
        return count_;
    if (!requested_) {
        requested_ = true;
        eventfd_write(descriptor_, 1);
    }
    return count_ + 1;
}

Served Exchange::get(Ticket ticket, std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    const bool hasCome = published_.wait_until(lock, deadline, [&] { return count_ >= ticket; });
    // A slow machine is not down. A machine that is down is published as soon as that is known.
    const bool serves = hasCome || (delay_.count() > 0 && isYoungerThan(oldest_ + delay_));
    return {serves ? sample_ : nullptr, counters_};
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
    isExpired_ = false;
    ++count_;
    requested_ = false;
    published_.notify_all();
}

void Exchange::expire() {
    const std::lock_guard lock(mutex_);
    isExpired_ = true;
}

void Exchange::countAction(const std::string& action, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    countBounded(counters_.actions, action, reason);
}

void Exchange::countPark(const std::string& reason, const std::string& result, double seconds) {
    const std::lock_guard lock(mutex_);
    countBounded(counters_.parks, result, reason);
    counters_.parkingSeconds += seconds;
}

void Exchange::countTaking(const std::string& result, double seconds) {
    const std::lock_guard lock(mutex_);
    ++counters_.takings[result];
    counters_.takingSeconds += seconds;
}

void Exchange::countResume(const std::string& result, double seconds) {
    const std::lock_guard lock(mutex_);
    ++counters_.resumes[result];
    counters_.resumingSeconds += seconds;
}

void Exchange::countError() {
    const std::lock_guard lock(mutex_);
    ++counters_.errors;
}

void Exchange::countFailure(const std::string& kind) {
    const std::lock_guard lock(mutex_);
    ++counters_.failures[kind];
}

} // namespace genv::monitor
