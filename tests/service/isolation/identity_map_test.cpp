// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/isolation/identity_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

namespace genv::service::isolation {
namespace {

using Range = std::pair<std::uint64_t, std::uint64_t>; // with both ends

Range rangeOf(const IdentityBlock& block) {
    const std::uint64_t size = std::uint64_t{1} << (32 - block.prefixLength);
    return {block.first, block.first + size - 1};
}

// Expects that the blocks are contiguous, each at a multiple of its size.
void expectBlocksFill(core::Uid first, core::Uid last) {
    const std::vector<IdentityBlock> blocks = blocksOf(first, last, 7);
    std::uint64_t at = first;
    for (const IdentityBlock& block : blocks) {
        const auto [begin, end] = rangeOf(block);
        ASSERT_EQ(begin, at);
        ASSERT_EQ(begin % (end - begin + 1), 0U);
        ASSERT_EQ(block.owner, std::optional<core::Uid>(7));
        at = end + 1;
    }
    EXPECT_EQ(at, std::uint64_t{last} + 1);
    EXPECT_LE(blocks.size(), 62U) << first << " to " << last;
}

TEST(IdentityBlocks, ARangeBecomesTheFewestBlocks) {
    EXPECT_EQ(blocksOf(5, 5, 1), (std::vector<IdentityBlock>{{5, 32, 1}}));
    EXPECT_EQ(blocksOf(65536, 131071, 1), (std::vector<IdentityBlock>{{65536, 16, 1}}));
    EXPECT_EQ(blocksOf(1, 6, 1),
              (std::vector<IdentityBlock>{{1, 32, 1}, {2, 31, 1}, {4, 31, 1}, {6, 32, 1}}));
    EXPECT_EQ(blocksOf(1, 999, std::nullopt).size(), 9U + 5U);
}

TEST(IdentityBlocks, TheEndsOfTheNumbersAreBlocksToo) {
    EXPECT_EQ(blocksOf(0, 0xffffffff, 1), (std::vector<IdentityBlock>{{0, 0, 1}}));
    EXPECT_EQ(blocksOf(0xffffffff, 0xffffffff, 1),
              (std::vector<IdentityBlock>{{0xffffffff, 32, 1}}));
    EXPECT_TRUE(blocksOf(2, 1, 1).empty());
    expectBlocksFill(1, 0xfffffffe);
}

TEST(IdentityBlocks, ExemptTheUidsThatNoSmallerBlockGivesToAnOwner) {
    EXPECT_TRUE(exemptUids({}).empty());
    EXPECT_TRUE(exemptUids({{1001, 32, 7}, {65536, 16, 7}}).empty());
    auto blocks = blocksOf(1, 999, std::nullopt);
    const auto more = blocksOf(61184, 65519, std::nullopt);
    blocks.insert(blocks.end(), more.begin(), more.end());
    blocks.push_back({100'000, 32, 1001});
    using core::UidRange;
    EXPECT_EQ(exemptUids(blocks), (std::vector<UidRange>{{1, 999}, {61184, 65519}}));
    blocks.push_back({62000, 32, 62000});
    blocks.push_back({62001, 32, 62001});
    EXPECT_EQ(exemptUids(blocks),
              (std::vector<UidRange>{{1, 999}, {61184, 61999}, {62002, 65519}}));
}

TEST(IdentityBlocks, AnyRangeIsFilledExactly) {
    std::mt19937 random(21); // NOLINT(cert-msc51-cpp): the same each time
    std::uniform_int_distribution<core::Uid> uid;
    for (int n = 0; n < 2000; ++n) {
        const core::Uid one = uid(random) >> (n % 32);
        const core::Uid other = uid(random) >> (n % 32);
        expectBlocksFill(std::min(one, other), std::max(one, other));
    }
}

} // namespace
} // namespace genv::service::isolation
