// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "core/ports/log.hpp"

#include <string>

namespace genv::bench {

/// Drops what the measured code logs.
class NoLog : public core::Log {
  public:
    void write(core::Severity /*severity*/, const std::string& /*line*/) override {}
};

} // namespace genv::bench
