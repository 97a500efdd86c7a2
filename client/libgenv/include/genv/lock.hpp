// SPDX-License-Identifier: LGPL-2.1-or-later
// The lock of an environment's devices: an open descriptor, which may go to another process.
#pragma once

#include "genv/export.hpp"

namespace genv {

/// Owns a descriptor that is a lock: it lasts until this one and every copy of it, such as one that
/// a child inherited, is closed. The descriptor is closed when another program is run, unless that
/// is changed.
class GENV_EXPORT Lock {
  public:
    /// Holds nothing.
    Lock() noexcept = default;
    /// Takes the descriptor over.
    explicit Lock(int descriptor) noexcept;
    Lock(Lock&& other) noexcept;
    Lock& operator=(Lock&& other) noexcept;
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock();

    /// -1 when it holds nothing.
    [[nodiscard]] int descriptor() const noexcept;
    /// Gives the descriptor to the caller, who closes it.
    [[nodiscard]] int release() noexcept;

  private:
    int descriptor_ = -1;
};

} // namespace genv
