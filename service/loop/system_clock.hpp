// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: the machine's clocks. May be called from any thread.
#pragma once

#include "core/ports/clock.hpp"

namespace genv::service {

class SystemClock : public core::Clock {
  public:
    [[nodiscard]] core::WallTime wallNow() const override;
    [[nodiscard]] core::BootTime bootNow() const override;
};

} // namespace genv::service
