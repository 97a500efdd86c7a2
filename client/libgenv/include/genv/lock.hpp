// SPDX-License-Identifier: LGPL-2.1-or-later
// The lock of an environment's devices: an open file descriptor, which can be passed to another
// process.
#pragma once

#include "genv/export.hpp"

namespace genv {

/// Owns the file descriptor of a lock. The lock lasts until this descriptor and every copy of it
/// are closed, including copies inherited by child processes. The descriptor is close-on-exec
/// unless the program changes that.
class GENV_EXPORT Lock {
  public:
    /// Creates an object without a lock.
    Lock() noexcept = default;
    /// Takes ownership of the descriptor.
    explicit Lock(int descriptor) noexcept;
    Lock(Lock&& other) noexcept;
    Lock& operator=(Lock&& other) noexcept;
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock();

    /// Returns the descriptor, or -1 if this object has none.
    [[nodiscard]] int descriptor() const noexcept;
    /// Passes ownership of the descriptor to the caller, who must close it.
    [[nodiscard]] int release() noexcept;

  private:
    int descriptor_ = -1;
};

} // namespace genv
