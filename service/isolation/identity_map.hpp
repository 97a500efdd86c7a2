// SPDX-License-Identifier: LGPL-2.1-or-later
// Blocks of uids in the form that the kernel gate compares, and functions that write and read its
// map.
#pragma once

#include "core/base/process.hpp"
#include "core/ports/gates.hpp"
#include "service/isolation/gate_maps.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

namespace genv::service::isolation {

/// The uids that share the upper `prefixLength` bits with `first`, whose other bits are 0. They
/// count as `owner`; without an owner, they may open every node.
struct IdentityBlock {
    core::Uid first = 0;
    std::uint32_t prefixLength = 32;
    std::optional<core::Uid> owner;

    friend auto operator<=>(const IdentityBlock&, const IdentityBlock&) = default;
};

/// Returns the fewest blocks that together contain exactly the uids from `first` to `last`.
std::vector<IdentityBlock> blocksOf(core::Uid first, core::Uid last,
                                    std::optional<core::Uid> owner);

/// Returns the uids that blocks exempt, as ascending ranges. Of two blocks that contain a uid, the
/// smaller one decides.
std::vector<core::UidRange> exemptUids(const std::vector<IdentityBlock>& blocks);

/// Makes the map equal to `wanted`. Adds new blocks before removing old ones, so that no uid is
/// without its block meanwhile. Throws BpfError.
void writeIdentities(const IdentitiesMap& map, const std::vector<IdentityBlock>& wanted);

/// Returns the narrowest block with this uid, as the gate finds it; nothing if there is none. Its
/// first uid is the given one. Throws BpfError.
std::optional<IdentityBlock> findIdentity(const IdentitiesMap& map, core::Uid uid);

/// Returns the blocks in the map. Throws BpfError.
std::vector<IdentityBlock> readIdentities(const IdentitiesMap& map);

} // namespace genv::service::isolation
