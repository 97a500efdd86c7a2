// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the clocks.
#pragma once

#include "core/base/time.hpp"

namespace genv::core {

class Clock {
  public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual WallTime wallNow() const = 0;
    [[nodiscard]] virtual BootTime bootNow() const = 0;
};

} // namespace genv::core
