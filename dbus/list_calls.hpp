// SPDX-License-Identifier: LGPL-2.1-or-later
// Calls that make the service work: those that wait for a sample, for processes or for the history.
#pragma once

#include "core/process.hpp"

#include <cstddef>
#include <memory>
#include <unordered_map>

namespace genv::dbus {

/// Counts the calls of each user that wait for a sample, a search of all processes or the history,
/// and refuses one too many.
class ListCalls {
  public:
    /// Counts a call for as long as the result lives. Throws core::Error(LimitsExceeded).
    [[nodiscard]] std::shared_ptr<void> enter(core::Uid uid);

  private:
    std::unordered_map<core::Uid, std::size_t> counts_;
};

} // namespace genv::dbus
