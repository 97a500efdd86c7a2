// SPDX-License-Identifier: LGPL-2.1-or-later
// The single owner of a file descriptor. It is in core because service and client both include
// core; core itself opens no files.
#pragma once

#include <unistd.h>

#include <utility>

namespace genv::core {

/// Owns a descriptor, or the negative result of a failed call.
class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int fd) noexcept : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor() { close(); }

    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] bool isOpen() const noexcept { return fd_ >= 0; }
    void close() noexcept {
        if (isOpen())
            ::close(std::exchange(fd_, -1));
    }

  private:
    int fd_ = -1;
};

} // namespace genv::core
