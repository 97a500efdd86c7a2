// SPDX-License-Identifier: LGPL-2.1-or-later
// Judges the memory of a device that no process accounts for. Processes that the driver no longer
// lists may keep it, such as zombies, and so may virtual machines and processes that this machine
// cannot see. One sample proves nothing, since processes start and exit while it is taken.
#pragma once

#include "core/base/time.hpp"
#include "core/ports/gpus.hpp"

#include <chrono>
#include <optional>

namespace genv::core {

/// How long the samples of a device that was given back prove nothing: the driver needs a moment to
/// free the memory of a process that has ended.
inline constexpr std::chrono::seconds releaseTime{5};

/// Returns the amount above which unaccounted memory counts: 1 GiB, or 2 % of a larger device.
Bytes unaccountedThreshold(Bytes total);

class UnaccountedMemory {
  public:
    /// An environment gave the device back at this time.
    void released(BootTime now) { released_ = now; }

    /// Processes the next sample of the device, which began at this time. Returns whether amount(),
    /// rest() or free() changed.
    bool observed(const DeviceSample& sample, BootTime began);

    /// The memory that two consecutive samples found unaccounted; 0 if they did not.
    [[nodiscard]] Bytes amount() const { return amount_; }
    /// Whether the last sample alone found such memory, so that the next one decides.
    [[nodiscard]] bool isSuspected() const { return isSuspected_ && amount_ == Bytes{0}; }
    /// The rest of the memory, used or free. Unset if amount() is 0 or the driver does not report
    /// the free memory.
    [[nodiscard]] const std::optional<Bytes>& rest() const { return rest_; }
    /// The memory that the driver has free. Unset in the same cases.
    [[nodiscard]] const std::optional<Bytes>& free() const { return free_; }

  private:
    std::optional<BootTime> released_;
    bool isSuspected_ = false;
    Bytes amount_;
    std::optional<Bytes> rest_;
    std::optional<Bytes> free_;
};

} // namespace genv::core
