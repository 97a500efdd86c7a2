// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts the calls of each user that wait for the same thing, and refuses calls above a cap.
#pragma once

#include "core/base/process.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace genv::dbus {

class CallPlaces {
  public:
    /// `cap`: the number of places of each user; root's calls are not limited. `waits`: what the
    /// calls do, as in "64 of your calls <waits> already".
    CallPlaces(std::size_t cap, std::string waits) : cap_(cap), waits_(std::move(waits)) {}

    /// Counts a call for the lifetime of the result, which may outlive this object. Throws
    /// core::Error(LimitsExceeded).
    [[nodiscard]] std::shared_ptr<void> enter(core::Uid uid);

  private:
    const std::size_t cap_;
    const std::string waits_;
    using Counts = std::unordered_map<core::Uid, std::size_t>;
    const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

} // namespace genv::dbus
