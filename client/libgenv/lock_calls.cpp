// SPDX-License-Identifier: LGPL-2.1-or-later
#include "genv/lock.hpp"

#include <unistd.h>

#include <utility>

namespace genv {

Lock::Lock(int descriptor) noexcept : descriptor_(descriptor) {}

Lock::Lock(Lock&& other) noexcept : descriptor_(other.release()) {}

Lock& Lock::operator=(Lock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

Lock::~Lock() {
    if (descriptor_ >= 0)
        close(descriptor_);
}

int Lock::descriptor() const noexcept {
    return descriptor_;
}

int Lock::release() noexcept {
    return std::exchange(descriptor_, -1);
}

} // namespace genv
