// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/limit_tables.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

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
              "MaxGpuMemoryPerDevice   16 GB           14.9 GiB (over the limit)\n"
              "MaxLifetime             2h              0s\n"
              "IdleTimeout             30min           1min 1s\n");
}

TEST(Limits, AreMarkedAsExceededForPeopleOnly) {
    const LimitsByName limits{{"MaxDevicesPerUser", {1, 3}}};
    EXPECT_EQ(limitsTable(limits).text(false),
              "MaxDevicesPerUser       1               3 (over the limit)\n");
    EXPECT_EQ(limitsTable(limits, false).csv(false), "MaxDevicesPerUser,1,3\n");
}

TEST(Limits, ShowAnAllowanceForLoansThatNobodyExceeds) {
    EXPECT_EQ(limitsTable({{"MaxPreemptibleDevices", {1, 3}}}).text(false),
              "MaxPreemptibleDevices   1               3\n");
}

TEST(Limits, OfALaterServiceAreShownToo) {
    EXPECT_EQ(limitsTable({{"MaxColors", {7, 1}}, {"MaxLifetime", {60, 1}}}).csv(false),
              "MaxLifetime,1min,1s\nMaxColors,7,1\n");
}

TEST(Limits, OfAnyNumberCanBeShown) {
    const auto max = std::numeric_limits<std::uint64_t>::max();
    EXPECT_FALSE(
        limitsTable({{"MaxLifetime", {max, max}}}).csv(false).starts_with("MaxLifetime,-"));
}

TEST(Limits, OfAllUsersHaveARowEach) {
    const std::vector<UserLimitUse> users{{"alice", 1001, someLimits()},
                                          {"bob", 1002, {{"MaxDevicesPerUser", {2, 2}}}}};
    EXPECT_EQ(allLimitsTable(users, 80).text(true),
              "USER            DEVICES ENVS PROCS MEMORY PER GPU        LIFETIME IDLE\n"
              "alice(1001)     1/2     3/-  0/0   0/-    14.9 GiB/16 GB 0s/2h    1min 1s/30min\n"
              "bob(1002)       2/2\n");
    EXPECT_EQ(allLimitsNumbers(users).csv(true),
              "USER,UID,DEVICES_USED,DEVICES_ALLOWED,ENVIRONMENTS_USED,ENVIRONMENTS_ALLOWED,"
              "PROCESSES_USED,PROCESSES_ALLOWED,GPU_MEMORY_USED_BYTES,GPU_MEMORY_ALLOWED_BYTES,"
              "GPU_MEMORY_PER_DEVICE_USED_BYTES,GPU_MEMORY_PER_DEVICE_ALLOWED_BYTES,"
              "LIFETIME_USED_SECONDS,LIFETIME_ALLOWED_SECONDS,IDLE_TIME_USED_SECONDS,"
              "IDLE_TIME_ALLOWED_SECONDS\n"
              "alice,1001,1,2,3,,0,0,0,,16000000001,16000000000,0,7200,61,1800\n"
              "bob,1002,2,2,,,,,,,,,,,,\n");
    EXPECT_EQ(allLimitsJson({users[1]}).dump(),
              R"([{"user":"bob","uid":1002,)"
              R"("limits":{"MaxDevicesPerUser":{"allowed":2,"used":2}}}])");
}

TEST(Limits, OfAllUsersKeepTheirColumnsBesideALongName) {
    const std::string name(40, 'x');
    const std::vector<UserLimitUse> users{{name, 1001, someLimits()}, {"bob", 1002, someLimits()}};
    const auto linesOf = [&](std::optional<std::size_t> width) {
        Table table = allLimitsTable(users, width);
        if (width)
            table.fit(*width);
        std::istringstream text(table.text(true));
        std::vector<std::string> lines;
        for (std::string line; std::getline(text, line);)
            lines.push_back(line);
        return lines;
    };
    for (const std::optional<std::size_t> width : {std::optional<std::size_t>(80), {}}) {
        const auto lines = linesOf(width);
        ASSERT_EQ(lines.size(), 3U);
        // An ellipsis takes three bytes and one column.
        const std::size_t bytes = lines[1].find("\u2026") == std::string::npos ? 0 : 2;
        EXPECT_EQ(lines[1].find("1/2"), lines[0].find("DEVICES") + bytes) << lines[1];
        EXPECT_EQ(lines[2].find("1/2"), lines[0].find("DEVICES")) << lines[2];
        EXPECT_EQ(lines[1].find(name) == std::string::npos, width.has_value());
        for (const std::string& line : lines)
            EXPECT_LE(line.size(), width.value_or(1000) + bytes) << line;
    }
}

TEST(Limits, OfAllUsersAreATitleWhereThereIsNobody) {
    EXPECT_EQ(allLimitsTable({}, 80).text(true), "USER\n");
    EXPECT_EQ(allLimitsNumbers({}).csv(true), "USER,UID\n");
}

TEST(Limits, AreNumbersInJson) {
    EXPECT_EQ(
        limitsJson({{"MaxLifetime", {7200, 1}}, {"MaxDevicesPerUser", {std::nullopt, 2}}}).dump(),
        R"({"MaxDevicesPerUser":{"allowed":null,"used":2},)"
        R"("MaxLifetime":{"allowed":7200,"used":1}})");
}

} // namespace
} // namespace genv::ctl
