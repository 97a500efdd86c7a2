// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/mailbox.hpp"

#include <sys/eventfd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace genv::top {

Mailbox::Mailbox() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (descriptor_.get() < 0)
        throw std::system_error(errno, std::generic_category(), "eventfd");
}

void Mailbox::post(Message message) {
    const std::scoped_lock lock(mutex_);
    messages_.push_back(std::move(message));
    eventfd_write(descriptor_.get(), 1);
}

std::deque<Message> Mailbox::take() {
    const std::scoped_lock lock(mutex_);
    eventfd_t count = 0;
    eventfd_read(descriptor_.get(), &count);
    return std::exchange(messages_, {});
}

} // namespace genv::top
