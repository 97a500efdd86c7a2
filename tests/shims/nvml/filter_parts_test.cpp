// SPDX-License-Identifier: LGPL-2.1-or-later
// The decisions of the NVML filter, without a driver and a service.
#include "shims/nvml/memory_figures.hpp"
#include "shims/nvml/process_entries.hpp"
#include "shims/nvml/visible.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace genv::shims {
namespace {

VisibleDevice device(unsigned index, std::string uuid, std::optional<std::uint64_t> share = {},
                     std::vector<VisibleProcess> processes = {}) {
    return {index, std::move(uuid), 16000, share, std::move(processes)};
}

std::string parentOf(const std::string& instance) {
    return instance.starts_with("MIG-a") ? "GPU-a" : "GPU-b";
}

Scope scopeOf(const View& view, std::string_view uuid) {
    return shims::scopeOf(view, uuid, parentOf);
}

TEST(NvmlScope, IsADeviceOfTheEnvironmentAndNoOther) {
    const View view{device(2, "GPU-c", {}, {{30, 1}, {10, 2}})};
    EXPECT_TRUE(scopeOf(view, "GPU-c").isVisible());
    EXPECT_FALSE(scopeOf(view, "GPU-c").isParent);
    EXPECT_EQ(scopeOf(view, "GPU-c").pids(), (std::vector<unsigned>{10, 30}));
    EXPECT_FALSE(scopeOf(view, "GPU-d").isVisible());
    EXPECT_FALSE(scopeOf(view, "").isVisible());
    EXPECT_FALSE(scopeOf({}, "GPU-c").isVisible());
}

TEST(NvmlScope, OfAGpuInMigModeIsItsAttachedInstances) {
    const View view{device(4, "MIG-a1", {}, {{10, 1}}), device(6, "MIG-a3", {}, {{7, 1}}),
                    device(7, "MIG-b1", {}, {{99, 1}})};
    EXPECT_EQ(scopeOf(view, "GPU-a").devices.size(), 2U);
    EXPECT_TRUE(scopeOf(view, "GPU-a").isParent);
    EXPECT_EQ(scopeOf(view, "GPU-a").pids(), (std::vector<unsigned>{7, 10}));
    EXPECT_EQ(scopeOf(view, "MIG-a1").pids(), (std::vector<unsigned>{10}));
    EXPECT_FALSE(scopeOf(view, "MIG-a2").isVisible());
    EXPECT_FALSE(scopeOf(view, "GPU-c").isVisible());
}

TEST(NvmlOrder, IsTheMachinesWithEachGpuOnce) {
    const auto gpus =
        inOrder({{3, {}, nullptr}, {1, {}, nullptr}, {1, {}, nullptr}, {0, {}, nullptr}});
    ASSERT_EQ(gpus.size(), 3U);
    EXPECT_EQ(gpus[0].index, 0U);
    EXPECT_EQ(gpus[1].index, 1U);
    EXPECT_EQ(gpus[2].index, 3U);
}

TEST(NvmlMemory, OfAShareIsTheShare) {
    const View view{device(0, "GPU-a", 4000, {{1, 1000}, {2, 500}})};
    EXPECT_EQ(ownMemory(scopeOf(view, "GPU-a"), {16000, 12000, 4000}),
              (MemoryFigures{4000, 2500, 1500}));
}

TEST(NvmlMemory, IsNeverFreeWhereTheDriverHasNone) {
    const View view{device(0, "GPU-a", 4000, {{1, 1000}})};
    EXPECT_EQ(ownMemory(scopeOf(view, "GPU-a"), {16000, 200, 15800}),
              (MemoryFigures{4000, 200, 1000}));
}

TEST(NvmlMemory, OverTheShareHasNoneFree) {
    const View view{device(0, "GPU-a", 4000, {{1, 5000}})};
    const auto memory = ownMemory(scopeOf(view, "GPU-a"), {16000, 11000, 5000});
    EXPECT_EQ(memory, (MemoryFigures{4000, 0, 5000}));
    EXPECT_EQ(remainder(*memory), 0U);
}

TEST(NvmlMemory, OfAWholeDeviceLeavesTheRestReserved) {
    const View view{device(0, "GPU-a", {}, {{1, 1000}})};
    const auto memory = ownMemory(scopeOf(view, "GPU-a"), {16500, 12000, 4500});
    EXPECT_EQ(memory, (MemoryFigures{16500, 12000, 1000}));
    EXPECT_EQ(remainder(*memory), 3500U);
}

TEST(NvmlMemory, ThatTheDriverDoesNotKnowIsNotMadeUp) {
    const MemoryFigures driver{16000, 12000, 4000};
    const View whole{device(0, "GPU-a", {}, {{1, 1000}, {2, std::nullopt}})};
    EXPECT_EQ(ownMemory(scopeOf(whole, "GPU-a"), driver), driver);
    const View share{device(0, "GPU-a", 4000, {{1, 1000}, {2, std::nullopt}})};
    EXPECT_EQ(ownMemory(scopeOf(share, "GPU-a"), driver), std::nullopt);
    const View instance{device(0, "MIG-a1", {}, {{2, std::nullopt}})};
    EXPECT_EQ(ownMemory(scopeOf(instance, "GPU-a"), driver), std::nullopt)
        << "the driver's numbers are of all instances";
}

TEST(NvmlMemory, OfAGpuInMigModeIsThatOfTheAttachedInstances) {
    const View view{device(4, "MIG-a1", {}, {{1, 1000}}), device(5, "MIG-a2", 4000, {{2, 500}}),
                    device(6, "MIG-b1", {}, {{3, 9000}})};
    EXPECT_EQ(ownMemory(scopeOf(view, "GPU-a"), {80000, 70000, 10000}),
              (MemoryFigures{20000, 18500, 1500}));
}

// Returns a list as a driver writes it: PIDs at an offset, other bytes that differ between all
// entries.
std::vector<unsigned char> entries(const std::vector<unsigned>& pids, std::size_t size,
                                   std::size_t pidOffset = 0) {
    std::vector<unsigned char> bytes(pids.size() * size);
    for (std::size_t i = 0; i < pids.size(); ++i) {
        std::memset(&bytes[i * size], static_cast<int>(i + 1), size);
        std::memcpy(&bytes[i * size + pidOffset], &pids[i], sizeof(unsigned));
    }
    return bytes;
}

class NvmlEntries : public testing::TestWithParam<std::size_t> {};

TEST_P(NvmlEntries, OfAnySizeAreMeasuredAndKeptWhole) {
    const std::size_t size = GetParam();
    for (const std::size_t offset : {std::size_t{0}, std::size_t{4}, std::size_t{8}}) {
        const auto all = entries({5, 6, 7, 8}, size, offset);
        std::vector<unsigned char> buffer(1000, unwritten);
        std::copy(all.begin(), all.end(), buffer.begin());
        ASSERT_EQ(measureEntries(buffer, 4), size);
        buffer.resize(4 * size);
        ASSERT_EQ(keepEntries(buffer, size, offset, {6, 8, 9}), 2U);
        EXPECT_TRUE(std::equal(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size),
                               all.begin() + static_cast<std::ptrdiff_t>(size)));
        EXPECT_TRUE(std::equal(all.begin() + static_cast<std::ptrdiff_t>(3 * size), all.end(),
                               buffer.begin() + static_cast<std::ptrdiff_t>(size)));
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, NvmlEntries, testing::Values(16, 24, 32, 40, 48, 128));

TEST(NvmlEntriesSize, CountsPaddingThatWasNotWritten) {
    std::vector<unsigned char> buffer(100, unwritten);
    std::fill_n(buffer.begin(), 2 * 24 - 4, static_cast<unsigned char>(0));
    EXPECT_EQ(measureEntries(buffer, 2), 24U);
    EXPECT_EQ(measureEntries(std::vector<unsigned char>(100, unwritten), 2), 0U);
}

TEST(NvmlEntriesKept, AreNoneOfNone) {
    std::vector<unsigned char> none;
    EXPECT_EQ(keepEntries(none, 16, 0, {1}), 0U);
    auto some = entries({1, 2}, 16);
    EXPECT_EQ(keepEntries(some, 16, 0, {}), 0U);
}

} // namespace
} // namespace genv::shims
