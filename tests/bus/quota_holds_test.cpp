// SPDX-License-Identifier: LGPL-2.1-or-later
// hold-for-quota on the bus: a request above its owner's quota waits until the owner gives
// something back, over a restart and a kill of the service, too.
#include "core/settings/caps.hpp"
#include "tests/bus/support/fixture.hpp"
#include "tests/bus/support/queue.hpp"

#include <signal.h>

#include <fstream>

namespace genv::tests {
namespace {

using Ids = std::vector<std::string>;

// Alice holds one of four GPUs, and may have one.
class QuotaHeld : public BusTest {
  protected:
    QuotaHeld()
        : BusTest({{"GENV_MOCK_DEVICE_COUNT", "4"}}), holding(activate(*asAlice, first, 1)),
          hers(activate(*asAlice, second)), his(activate(*asBob, bobs)) {
        limit("MaxDevicesPerUser=1");
    }

    void limit(const std::string& limits) {
        std::ofstream(Service::configurationFolder() / "genvd.conf") << "[User alice]\n"
                                                                     << limits << '\n';
        ASSERT_TRUE(asRoot->manager("Reload").ok());
    }
    std::unique_ptr<PendingCall> hold(Client& client, const std::string& id) {
        const std::size_t before = waitingIn(*asRoot).size();
        auto call = client.start(environmentPath(id), environmentInterface, "Attach", "a{sv}", 3,
                                 "count", "u", 1U, "wait", "b", 1, "hold-for-quota", "b", 1);
        waitUntil(
            [&] {
                while (sd_bus_process(client.bus(), nullptr) > 0) {
                }
                return call->answered || waitingIn(*asRoot).size() == before + 1;
            },
            "a place in the queue");
        return call;
    }
    void giveBack() { EXPECT_TRUE(asAlice->environment(holding, "Detach", "au", 0).ok()); }

    UserProcess first{alice};
    UserProcess second{alice};
    UserProcess bobs{bob};
    const std::string holding;
    const std::string hers;
    const std::string his;
};

TEST_F(QuotaHeld, IsServedOnceTheOwnerGivesBackAndLetsOthersPass) {
    const auto call = hold(*asAlice, hers);
    EXPECT_FALSE(call->answered);
    const Description row = describedQueue(*asRoot).at(0);
    EXPECT_EQ(row.at("environment"), hers);
    EXPECT_EQ(row.at("position"), "1");
    EXPECT_EQ(row.at("count"), "1");
    EXPECT_EQ(row.at("waits-for"), "quota");
    EXPECT_EQ(row.at("limit") + ' ' + row.at("used") + ' ' + row.at("allowed"),
              "MaxDevicesPerUser 1 1");
    EXPECT_TRUE(asBob->environment(his, "Attach", "a{sv}", 1, "count", "u", 1U).ok());
    giveBack();
    EXPECT_TRUE(asAlice->finish(*call).ok());
    EXPECT_EQ(waitingIn(*asRoot), Ids{});
}

TEST_F(QuotaHeld, IsRefusedAtOnceWhereNoUseOfTheQuotaSatisfiesIt) {
    for (const auto& [limits, count] :
         std::vector<std::pair<std::string, std::uint32_t>>{{"MaxDevicesPerUser=1", 2},
                                                            {"MaxDevicesPerUser=0", 1},
                                                            {"MaxDevicesPerEnvironment=1", 2},
                                                            {"MaxGpuMemoryPerUser=1g", 1}}) {
        limit(limits);
        EXPECT_EQ(asAlice
                      ->environment(hers, "Attach", "a{sv}", 3, "count", "u", count, "wait", "b", 1,
                                    "hold-for-quota", "b", 1)
                      .error,
                  error::quotaExceeded)
            << limits;
    }
    limit("MaxLifetime=1h");
    EXPECT_EQ(asAlice
                  ->environment(hers, "Attach", "a{sv}", 4, "count", "u", 1U, "wait", "b", 1,
                                "hold-for-quota", "b", 1, "lifetime", "t", std::uint64_t{7200})
                  .error,
              error::quotaExceeded);
    EXPECT_EQ(waitingIn(*asRoot), Ids{});
}

TEST_F(QuotaHeld, CountsTowardsTheWaitsOfItsUser) {
    std::vector<std::unique_ptr<PendingCall>> calls;
    for (std::size_t i = 0; i < core::caps::waitsPerUser; ++i)
        calls.push_back(hold(*asAlice, hers));
    EXPECT_EQ(waitingIn(*asRoot).size(), core::caps::waitsPerUser);
    const auto refused = hold(*asAlice, hers);
    EXPECT_EQ(asAlice->finish(*refused).error, error::limitsExceeded);
}

TEST_F(QuotaHeld, OfActivateCountsTowardsNoEnvironmentQuotaUntilItIsGranted) {
    limit("MaxEnvironmentsPerUser=2");
    UserProcess third(alice);
    const auto call =
        asAlice->start(managerPath, managerInterface, "Activate", "a{sv}", 4, "pid", "u",
                       third.pid(), "gpus", "u", 1U, "wait", "b", 1, "hold-for-quota", "b", 1);
    waitUntil([&] { return waitingIn(*asRoot).size() == 1; }, "a place in the queue");
    EXPECT_EQ(describedQueue(*asRoot).at(0).at("limit"), "MaxEnvironmentsPerUser");
    EXPECT_TRUE(asAlice->environment(hers, "Deactivate").ok());
    EXPECT_TRUE(asAlice->finish(*call).ok());
}

TEST_F(QuotaHeld, KeepsItsPlaceOverAKillOfTheService) {
    const auto call = hold(*asAlice, hers);
    const auto before = queueOf(*asRoot);
    service.restart(SIGKILL);
    EXPECT_EQ(queueOf(*asRoot), before);
    EXPECT_TRUE(asBob->environment(his, "Attach", "a{sv}", 1, "count", "u", 3U).ok())
        << "nothing is kept for it while its client is away, either";
    const auto again =
        asAlice->start(environmentPath(hers), environmentInterface, "Attach", "a{sv}", 3, "count",
                       "u", 1U, "wait", "b", 1, "hold-for-quota", "b", 1);
    giveBack();
    EXPECT_TRUE(asAlice->finish(*again).ok());
    EXPECT_EQ(waitingIn(*asRoot), Ids{}) << "it had one place";
}

} // namespace
} // namespace genv::tests
