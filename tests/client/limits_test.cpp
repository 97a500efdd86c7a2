// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/limits.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace genv::ctl {
namespace {

LimitsByName someLimits() {
    return {{"IdleTimeout", {1800, 61}},
            {"MaxDevicesPerUser", {2, 1}},
            {"MaxEnvironmentsPerUser", {std::nullopt, 3}},
            {"MaxGpuMemoryPerDevice", {16'000'000'000, 16'000'000'001}},
            {"MaxGpuMemoryPerUser", {std::nullopt, 0}},
            {"MaxLifetime", {7200, 0}},
            {"MaxProcessesPerUser", {0, 0}}};
}

TEST(Limits, AreShownInOneOrderAndInTheirUnits) {
    EXPECT_EQ(limitsTable(someLimits()).text(true),
              "LIMIT                   ALLOWED         USED\n"
              "MaxDevicesPerUser       2               1\n"
              "MaxEnvironmentsPerUser  unlimited       3\n"
              "MaxProcessesPerUser     0               0\n"
              "MaxGpuMemoryPerUser     unlimited       0\n"
              "MaxGpuMemoryPerDevice   16g             15258mi\n"
              "MaxLifetime             2h              0s\n"
              "IdleTimeout             30min           1min 1s\n");
}

TEST(Limits, OfALaterServiceAreShownToo) {
    EXPECT_EQ(limitsTable({{"MaxColours", {7, 1}}, {"MaxLifetime", {60, 1}}}).csv(false),
              "MaxLifetime,1min,1s\nMaxColours,7,1\n");
}

TEST(Limits, OfAnyNumberCanBeShown) {
    const auto most = std::numeric_limits<std::uint64_t>::max();
    EXPECT_FALSE(
        limitsTable({{"MaxLifetime", {most, most}}}).csv(false).starts_with("MaxLifetime,-"));
}

TEST(Limits, AreNumbersInJson) {
    EXPECT_EQ(
        limitsJson({{"MaxLifetime", {7200, 1}}, {"MaxDevicesPerUser", {std::nullopt, 2}}}).dump(),
        R"({"MaxDevicesPerUser":{"allowed":null,"used":2},)"
        R"("MaxLifetime":{"allowed":7200,"used":1}})");
}

} // namespace
} // namespace genv::ctl
