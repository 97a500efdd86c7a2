// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts expensive calls: those that wait for a sample, for processes or for the history.
#pragma once

#include "core/process.hpp"

#include <cstddef>
#include <memory>
#include <unordered_map>

namespace genv::dbus {

/// Counts, per user, the calls that wait for a sample, a search of all processes or the history,
/// and refuses calls above the limit.
class ListCalls {
  public:
    /// Counts a call for the lifetime of the result. Throws core::Error(LimitsExceeded).
    [[nodiscard]] std::shared_ptr<void> enter(core::Uid uid);

  private:
    std::unordered_map<core::Uid, std::size_t> counts_;
};

} // namespace genv::dbus
