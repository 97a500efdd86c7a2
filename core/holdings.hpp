// SPDX-License-Identifier: LGPL-2.1-or-later
// What a user holds, added up over all their environments: what limits are compared with.
#pragma once

#include "core/environment.hpp"

#include <cstddef>
#include <map>
#include <optional>

namespace genv::core {

class Ledger;

/// What a user holds. Devices are distinct ones, however many environments share them.
struct Holdings {
    std::size_t environments = 0;
    std::map<DeviceUuid, Bytes>
        memory; ///< by device: the shares, of which a whole device counts as all of it

    [[nodiscard]] std::size_t devices() const { return memory.size(); }
    [[nodiscard]] Bytes totalMemory() const;
    [[nodiscard]] Bytes mostMemoryOnADevice() const;

    void add(const Attachment& attachment) { add(attachment.device, attachment.share); }
    /// A device, or a share of it.
    void add(const DeviceFacts& device, std::optional<Bytes> share);
};

/// A device, or a share of it, that is kept for a user who waits.
struct KeptDevice {
    DeviceFacts device;
    std::optional<Bytes> share;
};

/// What a user holds now. What Slurm gave to their jobs is not counted, and what a child has counts
/// as its parent's.
Holdings holdingsOf(const Ledger& ledger, Uid uid);
/// What one environment holds.
Holdings holdingsOf(const Environment& environment);

} // namespace genv::core
