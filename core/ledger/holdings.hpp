// SPDX-License-Identifier: LGPL-2.1-or-later
// The devices and memory that a user holds, summed over all their environments. Limits are compared
// with these sums.
#pragma once

#include "core/model/environment.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace genv::core {

class LedgerView;

/// The sums for a user. Each device counts once, even if several of the user's environments share
/// it.
struct Holdings {
    std::size_t environments = 0;
    std::map<DeviceUuid, Bytes>
        memory; ///< by device: the sum of the shares; a whole device counts as all of its memory

    /// The devices that are only on loan, oldest first. Without those that could not be parked for
    /// others.
    std::vector<DeviceUuid> loans;

    // The sums for a user whose first `freeLoans` loans do not count.
    [[nodiscard]] std::size_t devices(std::uint32_t freeLoans = 0) const;
    [[nodiscard]] Bytes totalMemory(std::uint32_t freeLoans = 0) const;
    [[nodiscard]] Bytes maxMemoryPerDevice(std::uint32_t freeLoans = 0) const;

    /// Adds what an environment holds.
    void add(const EnvironmentRecord& environment, const DeviceAttachment& attachment);
    /// Adds a device, or a share of it.
    void add(const DeviceFacts& device, std::optional<Bytes> share, bool isLoan = false);

  private:
    [[nodiscard]] bool isFree(const DeviceUuid& device, std::uint32_t freeLoans) const;
};

/// Returns whether what a request gets for an environment with this configuration will be a loan.
inline bool willBeLoan(const EnvironmentConfiguration& configuration,
                       const AttachRequest& request) {
    return configuration.preemptible != Preemptible::No && !request.share && !request.overSubscribe;
}

/// A device, or a share of it, that is kept for a waiting user.
struct KeptDevice {
    DeviceFacts device;
    std::optional<Bytes> share;
    bool isLoan = false; ///< it will be on loan
};

/// Returns what a user holds now. Devices of the user's Slurm jobs are not counted. The devices of
/// a child environment count as its parent's. `changed`: counts in place of the environment with
/// its id; may be null.
Holdings holdingsOf(const LedgerView& ledger, Uid uid, const EnvironmentRecord* changed = nullptr);
/// Returns what one environment holds.
Holdings holdingsOf(const EnvironmentRecord& environment);

} // namespace genv::core
