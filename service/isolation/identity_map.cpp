// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/isolation/identity_map.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <map>
#include <utility>

namespace genv::service::isolation {

namespace {

using BlockKey = std::pair<core::Uid, std::uint32_t>; // first uid, length of the prefix

// Removes a range from the last of the ranges, which contains it.
void cutOut(const core::UidRange& range, std::vector<core::UidRange>& ranges) {
    const core::UidRange whole = ranges.back();
    ranges.pop_back();
    if (whole.first < range.first)
        ranges.push_back({whole.first, range.first - 1});
    if (range.last < whole.last)
        ranges.push_back({range.last + 1, whole.last});
}

genv_uid_block toKernel(const BlockKey& key) {
    return {key.second, htonl(key.first)};
}

} // namespace

std::vector<IdentityBlock> blocksOf(core::Uid first, core::Uid last,
                                    std::optional<core::Uid> owner) {
    std::vector<IdentityBlock> blocks;
    std::uint64_t at = first;
    while (at <= last) {
        std::uint32_t bits = 0; // number of bits after the prefix
        while (bits < 32) {
            const std::uint64_t size = std::uint64_t{2} << bits;
            if (at % size != 0 || at + size - 1 > last)
                break;
            ++bits;
        }
        blocks.push_back({static_cast<core::Uid>(at), 32 - bits, owner});
        at += std::uint64_t{1} << bits;
    }
    return blocks;
}

std::vector<core::UidRange> exemptUids(const std::vector<IdentityBlock>& blocks) {
    std::vector<IdentityBlock> sorted = blocks;
    // A smaller block comes after the block around it.
    std::ranges::sort(sorted);
    std::vector<core::UidRange> ranges;
    for (const IdentityBlock& block : sorted) {
        const std::uint64_t size = std::uint64_t{1} << (32 - block.prefixLength);
        const core::UidRange range{block.first, static_cast<core::Uid>(block.first + size - 1)};
        core::UidRange* before = ranges.empty() ? nullptr : &ranges.back();
        const bool isInside = before != nullptr && range.first <= before->last;
        if (!block.owner && before != nullptr && std::uint64_t{before->last} + 1 == range.first)
            before->last = range.last;
        else if (!block.owner && !isInside)
            ranges.push_back(range);
        else if (block.owner && isInside)
            cutOut(range, ranges);
    }
    return ranges;
}

void writeIdentities(const IdentitiesMap& map, const std::vector<IdentityBlock>& wanted) {
    std::map<BlockKey, std::uint32_t> there;
    for (const IdentityBlock& block : readIdentities(map))
        there.emplace(BlockKey(block.first, block.prefixLength), block.owner.value_or(GENV_EXEMPT));
    for (const IdentityBlock& block : wanted) {
        const BlockKey key(block.first, block.prefixLength);
        const std::uint32_t value = block.owner.value_or(GENV_EXEMPT);
        const auto found = there.find(key);
        if (found == there.end() || found->second != value)
            map.put(toKernel(key), value);
        if (found != there.end())
            there.erase(found);
    }
    for (const auto& [key, value] : there)
        map.remove(toKernel(key));
}

std::optional<IdentityBlock> findIdentity(const IdentitiesMap& map, core::Uid uid) {
    const std::optional<std::uint32_t> owner = map.find(toKernel({uid, 32}));
    if (!owner)
        return std::nullopt;
    return IdentityBlock{uid, 32, *owner == GENV_EXEMPT ? std::nullopt : std::optional(*owner)};
}

std::vector<IdentityBlock> readIdentities(const IdentitiesMap& map) {
    std::vector<IdentityBlock> blocks;
    for (const genv_uid_block& key : map.keys(GENV_MAX_UID_BLOCKS)) {
        const std::optional<std::uint32_t> owner = map.find(key);
        if (!owner)
            continue;
        IdentityBlock block{ntohl(key.first_uid), key.prefix_length, std::nullopt};
        if (*owner != GENV_EXEMPT)
            block.owner = *owner;
        blocks.push_back(block);
    }
    return blocks;
}

} // namespace genv::service::isolation
