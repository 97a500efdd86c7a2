// SPDX-License-Identifier: LGPL-2.1-or-later
// Blocks of uids as the kernel's gate compares them, and how its map gets them.
#pragma once

#include "core/process.hpp"
#include "service/isolation/gate_maps.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

namespace genv::service::isolation {

/// The uids that have the upper `prefixLength` bits in common with `first`, whose other bits are 0.
/// They are judged as `owner`; without one they may open every node.
struct IdentityBlock {
    core::Uid first = 0;
    std::uint32_t prefixLength = 32;
    std::optional<core::Uid> owner;

    friend auto operator<=>(const IdentityBlock&, const IdentityBlock&) = default;
};

/// The fewest blocks that have exactly the uids from `first` to `last`.
std::vector<IdentityBlock> blocksOf(core::Uid first, core::Uid last,
                                    std::optional<core::Uid> owner);

/// Makes the map equal to `wanted`: first what is new, then away with what is not wanted, so that
/// no uid is without its block meanwhile. Throws BpfError.
void writeIdentities(const IdentitiesMap& map, const std::vector<IdentityBlock>& wanted);

/// What the map has. Throws BpfError.
std::vector<IdentityBlock> readIdentities(const IdentitiesMap& map);

} // namespace genv::service::isolation
