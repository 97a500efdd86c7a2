// SPDX-License-Identifier: LGPL-2.1-or-later
// The choice of the host for a request.
#include "client/genvctl/remote/strategy.hpp"

#include <gtest/gtest.h>

namespace genv::ctl {
namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

Device deviceOf(std::uint32_t index, const std::string& model, std::uint64_t memory,
                const std::string& uuid = "GPU-") {
    return {index, uuid + std::to_string(index), model, memory};
}

// Hosts with this number of devices of 16 GiB. The first `held` of them are held.
remote::HostState hostWith(std::uint32_t devices, std::uint32_t held,
                           const std::string& model = "Tesla V100",
                           std::uint64_t memory = 16 * gib) {
    remote::HostState host;
    for (std::uint32_t index = 0; index < devices; ++index) {
        host.devices.push_back(deviceOf(index, model, memory));
        if (index < held)
            host.attachments.push_back({index, "e", {}, {}, {}});
    }
    return host;
}

std::vector<std::size_t> chosen(Strategy strategy, const WantedDevices& wanted,
                                const std::vector<remote::HostState>& hosts) {
    std::vector<HostRoom> rooms;
    for (const remote::HostState& host : hosts)
        rooms.push_back(roomFor(wanted, host));
    return inOrder(strategy, rooms);
}

using Order = std::vector<std::size_t>;

TEST(Strategy, isKnownByItsName) {
    EXPECT_EQ(strategyNamed("most-free"), Strategy::MostFree);
    EXPECT_EQ(strategyNamed("least-free"), Strategy::LeastFree);
    EXPECT_EQ(strategyNamed("pack"), Strategy::LeastFree);
    EXPECT_EQ(strategyNamed("memory"), Strategy::Memory);
    EXPECT_EQ(strategyNamed("order"), Strategy::Order);
    EXPECT_EQ(strategyNamed("most"), std::nullopt);
    EXPECT_EQ(strategyNamed(""), std::nullopt);
}

TEST(Strategy, mostFreeCountsFreeDevicesThenMemoryThenTheOrder) {
    const std::vector hosts{hostWith(4, 2), hostWith(4, 1), hostWith(8, 6),
                            hostWith(2, 0, "A", 32 * gib)};
    EXPECT_EQ(chosen(Strategy::MostFree, {1, {}, {}, false}, hosts), (Order{1, 3, 0, 2}));
}

TEST(Strategy, leastFreeIsItsOpposite) {
    const std::vector hosts{hostWith(4, 1), hostWith(4, 2), hostWith(8, 6),
                            hostWith(2, 0, "A", 32 * gib)};
    EXPECT_EQ(chosen(Strategy::LeastFree, {1, {}, {}, false}, hosts), (Order{1, 2, 3, 0}));
}

TEST(Strategy, memoryLooksAtTheLargestDevice) {
    const std::vector hosts{hostWith(8, 0), hostWith(1, 0, "A", 80 * gib),
                            hostWith(2, 0, "A", 80 * gib), hostWith(1, 1, "A", 96 * gib)};
    EXPECT_EQ(chosen(Strategy::Memory, {1, {}, {}, false}, hosts), (Order{2, 1, 0, 3}));
}

TEST(Strategy, aDeviceInUseOutsideGenvIsNotFreeAndItsHostComesLast) {
    remote::HostState used = hostWith(1, 0);
    used.conditions[0] = {false, 4 * gib};
    EXPECT_FALSE(used.isFree(used.devices[0]));
    EXPECT_TRUE(used.isAvailable(used.devices[0]));
    const HostRoom room = roomFor({1, {}, {}, false}, used);
    EXPECT_EQ(room.free, 0);
    EXPECT_TRUE(room.servesNow) << "with a warning";
    for (const Strategy strategy : {Strategy::MostFree, Strategy::LeastFree, Strategy::Memory})
        EXPECT_EQ(chosen(strategy, {1, {}, {}, false}, {used, hostWith(4, 2)}), (Order{1, 0}));
    EXPECT_EQ(chosen(Strategy::Order, {1, {}, {}, false}, {used, hostWith(4, 2)}), (Order{0, 1}));
    EXPECT_TRUE(roomFor({1, 12 * gib, {}, false}, used).servesNow);
    EXPECT_FALSE(roomFor({1, 13 * gib, {}, false}, used).servesNow) << "4 of 16 GiB are in use";
}

TEST(Strategy, aLostDeviceServesNobody) {
    remote::HostState host = hostWith(1, 0);
    host.lost.insert(0);
    EXPECT_FALSE(host.isFree(host.devices[0]));
    EXPECT_FALSE(roomFor({1, {}, {}, false}, host).servesNow);
    EXPECT_FALSE(roomFor({1, gib, {}, false}, host).servesNow);
}

TEST(Strategy, orderIsAsNamed) {
    const std::vector hosts{hostWith(1, 0), hostWith(8, 0), hostWith(4, 0)};
    EXPECT_EQ(chosen(Strategy::Order, {1, {}, {}, false}, hosts), (Order{0, 1, 2}));
}

TEST(Room, isOfMatchingDevicesOnly) {
    remote::HostState host = hostWith(2, 0, "NVIDIA A100-SXM4-80GB", 80 * gib);
    host.devices.push_back(deviceOf(2, "Tesla V100", 16 * gib));
    const HostRoom room = roomFor({2, {}, "a100", false}, host);
    EXPECT_EQ(room, (HostRoom{2, 2, 160 * gib, 80 * gib, true, true, true}));
    EXPECT_FALSE(roomFor({3, {}, "a100", false}, host).servesEver);
    EXPECT_EQ(roomFor({1, {}, "H100", false}, host), HostRoom{});
}

TEST(Room, ofOneThatIsFullServesLater) {
    const HostRoom room = roomFor({3, {}, {}, false}, hostWith(4, 2));
    EXPECT_FALSE(room.servesNow);
    EXPECT_TRUE(room.servesEver);
    EXPECT_TRUE(roomFor({2, {}, {}, false}, hostWith(4, 2)).servesNow);
    EXPECT_TRUE(roomFor({3, {}, {}, true}, hostWith(4, 2)).servesNow)
        << "others' may be taken, too";
    EXPECT_FALSE(roomFor({5, {}, {}, true}, hostWith(4, 2)).servesEver);
}

TEST(Room, forSharesIsTheMemoryThatNobodyHolds) {
    remote::HostState host = hostWith(2, 0);
    host.attachments.push_back({0, "e", {}, 10 * gib, {}});
    EXPECT_EQ(roomFor({1, 4 * gib, {}, false}, host),
              (HostRoom{2, 2, 22 * gib, 16 * gib, true, true, true}));
    EXPECT_EQ(roomFor({1, 8 * gib, {}, false}, host),
              (HostRoom{2, 1, 16 * gib, 16 * gib, true, true, true}));
    EXPECT_EQ(roomFor({1, {}, {}, false}, host).free, 1U)
        << "a whole device is one that nobody has any of";
    EXPECT_FALSE(roomFor({1, 17 * gib, {}, false}, host).servesEver) << "none is that large";
    host.attachments.push_back({0, "f", {}, {}, {}});
    EXPECT_EQ(roomFor({1, 1, {}, false}, host).free, 1U) << "more was given than there is";
}

TEST(Room, neverMixesGpusAndInstances) {
    remote::HostState host = hostWith(1, 0);
    host.devices.push_back(deviceOf(1, "A", 10 * gib, "MIG-"));
    host.devices.push_back(deviceOf(2, "A", 10 * gib, "MIG-"));
    EXPECT_TRUE(roomFor({2, {}, {}, false}, host).servesNow);
    EXPECT_FALSE(roomFor({3, {}, {}, false}, host).servesEver);
    host.attachments.push_back({1, "e", {}, {}, {}});
    EXPECT_EQ(roomFor({1, {}, {}, false}, host).maxFreeBytesOnOne, 16 * gib);
    EXPECT_FALSE(roomFor({2, {}, {}, false}, host).servesNow);
}

TEST(Room, withoutDevicesWantedIsEverywhere) {
    EXPECT_TRUE(roomFor({}, {}).servesNow);
    EXPECT_TRUE(roomFor({}, hostWith(1, 1)).servesNow);
    EXPECT_FALSE(roomFor({1, {}, {}, false}, {}).servesEver);
}

} // namespace
} // namespace genv::ctl
