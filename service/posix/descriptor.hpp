// SPDX-License-Identifier: LGPL-2.1-or-later
// Owner of a file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace genv::service {

/// Closes its descriptor when it goes. Movable; -1 is none.
class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor() {
        if (fd_ >= 0)
            ::close(fd_);
    }

    [[nodiscard]] int get() const noexcept { return fd_; }

  private:
    int fd_ = -1;
};

} // namespace genv::service
