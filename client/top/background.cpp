// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/background.hpp"

#include <sys/eventfd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace genv::top {

Background::Background(std::function<void(int stop)> work)
    : stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), end_(ended_.get_future()) {
    if (stop_.get() < 0)
        throw std::system_error(errno, std::generic_category(), "eventfd");
    thread_ = std::thread([this, work = std::move(work)] {
        work(stop_.get());
        ended_.set_value();
    });
}

Background::~Background() {
    stop();
    thread_.join();
}

void Background::stop() {
    eventfd_write(stop_.get(), 1);
}

bool Background::endsWithin(std::chrono::milliseconds time) const {
    return end_.wait_for(time) == std::future_status::ready;
}

} // namespace genv::top
