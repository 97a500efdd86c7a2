// SPDX-License-Identifier: LGPL-2.1-or-later
// The holdings of a user, and the refusal of grants beyond an administrator's limits.
#include "core/ledger/holdings.hpp"
#include "core/limits/admission.hpp"
#include "tests/core/rules_fixture.hpp"

namespace genv::tests {
namespace {

using core::QuotaViolation;

class Admission : public RulesTest {
  protected:
    Admission() {
        activate("20", alice);
        activate("30", alice);
        activate("40", bob);
    }
    QuotaViolation attaching(const std::string& id, std::vector<core::DeviceIndex> indices,
                             std::optional<core::Bytes> share = std::nullopt) {
        return core::admitAttachment(
            ledger, ledger.get(id), limits,
            planned(id, {core::IndicesWanted{std::move(indices)}, std::nullopt, share, true}));
    }
    QuotaViolation activating(std::vector<core::DeviceIndex> indices = {},
                              std::optional<core::Bytes> share = std::nullopt) {
        std::optional<core::Plan> plan;
        if (!indices.empty())
            plan = core::place({core::IndicesWanted{std::move(indices)}, std::nullopt, share, true},
                               ledger.devices(), nullptr);
        return core::admitActivation(ledger, users.at(alice), limits, plan);
    }
    core::Limits limits;
};

TEST_F(Admission, HoldsNobodyBackWithoutLimits) {
    EXPECT_EQ(attaching("20", {0, 1, 2, 3}), std::nullopt);
    EXPECT_EQ(activating({0, 1, 2, 3}), std::nullopt);
    EXPECT_EQ(core::admitConfiguration(limits, {{}, 100, gigabytes(900)}), std::nullopt);
}

TEST_F(Admission, RefusesTheDeviceBeyondTheLimitAndNamesIt) {
    limits.maxDevices = 2;
    attachIndices("20", {0});
    EXPECT_EQ(attaching("20", {1}), std::nullopt);
    EXPECT_EQ(attaching("20", {1, 2}),
              "you may have 2 devices, and this would make 3 (MaxDevicesPerUser)");
    EXPECT_EQ(activating({1}), std::nullopt);
    EXPECT_EQ(activating({1, 2}),
              "you may have 2 devices, and this would make 3 (MaxDevicesPerUser)");
}

TEST_F(Admission, RefusesTheDeviceBeyondTheLimitOfAnEnvironment) {
    limits.maxDevicesPerEnvironment = 2;
    attachIndices("20", {0});
    EXPECT_EQ(attaching("20", {1}), std::nullopt);
    EXPECT_EQ(attaching("30", {1, 2}), std::nullopt) << "each environment has its own";
    const QuotaViolation tooMany = "an environment may have 2 devices, and this would make 3 "
                                   "(MaxDevicesPerEnvironment)";
    EXPECT_EQ(attaching("20", {1, 2}), tooMany);
    EXPECT_EQ(activating({1, 2, 3}), tooMany);
    EXPECT_EQ(core::admitConfiguration(limits, {{}, 3, {}}), tooMany);
    EXPECT_EQ(core::admitConfiguration(limits, {{}, 2, {}}), std::nullopt);
}

TEST_F(Admission, CountsTheDevicesOfAllEnvironmentsOfAUserAndOfNobodyElse) {
    limits.maxDevices = 2;
    attachIndices("20", {0});
    attachIndices("40", {1, 2});
    EXPECT_EQ(attaching("30", {3}), std::nullopt);
    attachIndices("30", {3});
    EXPECT_NE(attaching("20", {1}), std::nullopt);
}

TEST_F(Admission, CountsADeviceOnceHoweverManyEnvironmentsShareIt) {
    limits.maxDevices = 1;
    attachShares("20", {0}, gigabytes(1));
    EXPECT_EQ(attaching("30", {0}, gigabytes(1)), std::nullopt);
}

TEST_F(Admission, CountsWhatIsExempt) {
    limits.maxDevices = 1;
    attachExempt("20", {0});
    EXPECT_NE(attaching("20", {1}), std::nullopt) << "the exception was for device 0 only";
}

TEST_F(Admission, LetsAUserAlwaysGiveBack) {
    attachIndices("20", {0, 1, 2});
    limits.maxDevices = 1;
    limits.maxGpuMemory = gigabytes(1);
    const core::AttachRequest fewer{core::CountWanted{2}, std::nullopt, std::nullopt, false};
    EXPECT_EQ(core::admitAttachment(ledger, ledger.get("20"), limits, planned("20", fewer)),
              std::nullopt);
}

TEST_F(Admission, RefusesTheEnvironmentBeyondTheLimitAndNamesIt) {
    limits.maxEnvironments = 3;
    EXPECT_EQ(activating(), std::nullopt);
    limits.maxEnvironments = 2;
    EXPECT_EQ(activating(),
              "you may have 2 environments, and this would make 3 (MaxEnvironmentsPerUser)");
    EXPECT_EQ(attaching("20", {0}), std::nullopt) << "that makes no environment";
}

TEST_F(Admission, CountsAWholeDeviceAsAllOfItsMemory) {
    limits.maxGpuMemory = gigabytes(32);
    EXPECT_EQ(attaching("20", {0, 1}), std::nullopt);
    EXPECT_EQ(attaching("20", {0, 1, 2}), "you may have 32 GB of GPU memory, and this would make "
                                          "48 GB (MaxGpuMemoryPerUser)");
    EXPECT_EQ(attaching("20", {0, 1, 2}, gigabytes(4)), std::nullopt);
}

TEST_F(Admission, AddsTheSharesOfOneDeviceUpToWhatItHas) {
    limits.maxGpuMemoryPerDevice = gigabytes(6);
    attachShares("20", {0}, gigabytes(4));
    EXPECT_EQ(attaching("30", {0}, gigabytes(2)), std::nullopt);
    EXPECT_EQ(attaching("30", {1}, gigabytes(6)), std::nullopt);
    EXPECT_EQ(attaching("30", {0}, gigabytes(3)),
              "you may have 6 GB of GPU memory on one device, and this would make 7 GB "
              "(MaxGpuMemoryPerDevice)");
    EXPECT_EQ(attaching("30", {0}), "you may have 6 GB of GPU memory on one device, and this "
                                    "would make 16 GB (MaxGpuMemoryPerDevice)")
        << "no more than there is";
}

TEST_F(Admission, RefusesAConfigurationThatCouldNeverBeAttached) {
    limits.maxDevices = 2;
    limits.maxGpuMemory = gigabytes(8);
    limits.maxGpuMemoryPerDevice = gigabytes(4);
    EXPECT_EQ(core::admitConfiguration(limits, {{}, 2, gigabytes(4)}), std::nullopt);
    EXPECT_EQ(core::admitConfiguration(limits, {{}, 3, {}}),
              "you may have 2 devices, and this would make 3 (MaxDevicesPerUser)");
    EXPECT_EQ(core::admitConfiguration(limits, {{}, {}, gigabytes(5)}),
              "you may have 4 GB of GPU memory on one device, and this would make 5 GB "
              "(MaxGpuMemoryPerDevice)");
    limits.maxGpuMemoryPerDevice.reset();
    EXPECT_EQ(core::admitConfiguration(limits, {{}, {}, gigabytes(9)}),
              "you may have 8 GB of GPU memory, and this would make 9 GB (MaxGpuMemoryPerUser)");
}

TEST_F(Admission, LetsAConfigurationBeUnset) {
    limits.maxDevices = 0;
    limits.maxGpuMemory = gigabytes(1);
    EXPECT_EQ(core::admitConfiguration(
                  limits, {{}, std::optional<std::uint32_t>{}, std::optional<core::Bytes>{}}),
              std::nullopt);
}

TEST_F(Admission, AddsUpWhatAUserHolds) {
    attachShares("20", {0}, gigabytes(4));
    attachShares("30", {0, 1}, gigabytes(3));
    attachExempt("30", {2}, gigabytes(5));
    const core::Holdings all = core::holdingsOf(ledger, alice);
    EXPECT_EQ(all.environments, 2U);
    EXPECT_EQ(all.devices(), 3U);
    EXPECT_EQ(all.totalMemory(), gigabytes(15));
    EXPECT_EQ(all.maxMemoryPerDevice(), gigabytes(7));
    EXPECT_EQ(core::holdingsOf(ledger, 4242).environments, 0U);
}

TEST_F(Admission, AddsALifetimeToTheAgeOfWhatItExtends) {
    using namespace std::chrono_literals;
    EXPECT_EQ(core::admitLifetime(limits, 100h, std::nullopt), std::nullopt);
    limits.maxLifetime = 2h;
    EXPECT_EQ(core::admitLifetime(limits, 0s, 2h), std::nullopt);
    EXPECT_EQ(core::admitLifetime(limits, 90min, 30min), std::nullopt);
    EXPECT_EQ(core::admitLifetime(limits, 90min, 31min),
              "an environment may last 2h, and this would make 2h 1min (MaxLifetime)");
    EXPECT_EQ(core::admitLifetime(limits, 0s, std::nullopt),
              "an environment may last 2h, so its lease has to stay (MaxLifetime)");
}

TEST_F(Admission, ChecksNothingOfDevicesThatAreHeldAlready) {
    limits.maxDevices = 1;
    attachExempt("20", {0, 1});
    EXPECT_EQ(attaching("20", {0, 1}), std::nullopt) << "nothing would be added";
}

} // namespace
} // namespace genv::tests
