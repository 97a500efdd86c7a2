// SPDX-License-Identifier: LGPL-2.1-or-later
// The devices and memory that a user holds, summed over all their environments. Limits are compared
// with these sums.
#pragma once

#include "core/environment.hpp"

#include <cstddef>
#include <map>
#include <optional>

namespace genv::core {

class Ledger;

/// The sums for a user. Each device counts once, even if several of the user's environments share
/// it.
struct Holdings {
    std::size_t environments = 0;
    std::map<DeviceUuid, Bytes>
        memory; ///< by device: the sum of the shares; a whole device counts as all of its memory

    [[nodiscard]] std::size_t devices() const { return memory.size(); }
    [[nodiscard]] Bytes totalMemory() const;
    [[nodiscard]] Bytes maxMemoryPerDevice() const;

    void add(const Attachment& attachment) { add(attachment.device, attachment.share); }
    /// Adds a device, or a share of it.
    void add(const DeviceFacts& device, std::optional<Bytes> share);
};

/// A device, or a share of it, that is kept for a waiting user.
struct KeptDevice {
    DeviceFacts device;
    std::optional<Bytes> share;
};

/// Returns what a user holds now. Devices of the user's Slurm jobs are not counted. The devices of
/// a child environment count as its parent's.
Holdings holdingsOf(const Ledger& ledger, Uid uid);
/// Returns what one environment holds.
Holdings holdingsOf(const Environment& environment);

} // namespace genv::core
