// SPDX-License-Identifier: LGPL-2.1-or-later
// The output of nvidia-smi on other hosts, in its correct form and in possible broken forms.
#include "client/monitor/foreign.hpp"
#include "client/monitor/nvidia_smi.hpp"

#include <gtest/gtest.h>

namespace genv::monitor {

namespace {

constexpr std::uint64_t mebibyte = 1 << 20;

// Returns the device of a line with this value in one field and valid values in the others.
DeviceState lineWith(std::size_t field, const std::string& value) {
    std::vector<std::string> fields{"3", "GPU-a", "10", "20", "30", "40", "50.5", "Model"};
    fields.at(field) = value;
    std::string line;
    for (const std::string& one : fields)
        line += (line.empty() ? "" : ", ") + one;
    const auto devices = readNvidiaSmi(line + "\n", Time{});
    return devices.size() == 1 ? devices.front() : DeviceState{};
}

TEST(NvidiaSmi, ItsReadingsAreRead) {
    const Time now{std::chrono::seconds{5}};
    const auto devices =
        readNvidiaSmi("0, GPU-5f, 97, 39874, 40960, 64, 251.37, NVIDIA A100-SXM4-40GB\r\n"
                      "1, GPU-60, 0, 3, 40960, 31, 52, NVIDIA A100, or so\n",
                      now);
    ASSERT_EQ(devices.size(), 2U);
    const DeviceState& first = devices[0];
    EXPECT_EQ(first.device.index, 0U);
    EXPECT_EQ(first.device.uuid, "GPU-5f");
    EXPECT_EQ(first.device.model, "NVIDIA A100-SXM4-40GB");
    EXPECT_EQ(first.device.totalMemoryBytes, 40960 * mebibyte);
    EXPECT_EQ(first.usedMemoryBytes, 39874 * mebibyte);
    EXPECT_EQ(first.sensors.utilizationPercent, 97U);
    EXPECT_EQ(first.sensors.temperatureCelsius, 64);
    EXPECT_EQ(first.sensors.powerMilliwatts, 251370U);
    EXPECT_EQ(first.sampledAt, now);
    EXPECT_EQ(devices[1].sensors.utilizationPercent, 0U);
    EXPECT_EQ(devices[1].device.model, "NVIDIA A100, or so");
}

TEST(NvidiaSmi, WhatItDoesNotKnowIsNotKnown) {
    const auto devices = readNvidiaSmi("7, [N/A], [N/A], [Not Supported], [Unknown Error], N/A, "
                                       "[GPU requires reset], [Unknown Error]",
                                       Time{});
    ASSERT_EQ(devices.size(), 1U);
    EXPECT_EQ(devices[0].device.index, 7U);
    EXPECT_EQ(devices[0].device.uuid, "");
    EXPECT_EQ(devices[0].device.model, "");
    EXPECT_EQ(devices[0].device.totalMemoryBytes, 0U);
    EXPECT_FALSE(devices[0].usedMemoryBytes);
    EXPECT_FALSE(devices[0].sensors.utilizationPercent);
    EXPECT_FALSE(devices[0].sensors.temperatureCelsius);
    EXPECT_FALSE(devices[0].sensors.powerMilliwatts);
}

TEST(NvidiaSmi, OddNumbersAreNone) {
    for (const char* odd : {"-1", "--", "", "1e3", "0x10", "101", "12 %", "1.5", "+5",
                            "18446744073709551617", "nan", "inf", "\x1b[2J"})
        EXPECT_FALSE(lineWith(2, odd).sensors.utilizationPercent) << odd;
    for (const char* odd :
         {"-1", "1.5", "20 MiB", "18446744073709551615", "1099511627777", "inf"}) {
        EXPECT_FALSE(lineWith(3, odd).usedMemoryBytes) << odd;
        EXPECT_EQ(lineWith(4, odd).device.totalMemoryBytes, 0U) << odd;
    }
    for (const char* odd : {"1001", "-101", "1.5", "nan", "99999999999999999999", "40 C"})
        EXPECT_FALSE(lineWith(5, odd).sensors.temperatureCelsius) << odd;
    EXPECT_EQ(lineWith(5, "-5").sensors.temperatureCelsius, -5);
    for (const char* odd :
         {"nan", "inf", "-inf", "-0.1", "1e300", "1e400", "50 W", "0x1p3", "ERR!"})
        EXPECT_FALSE(lineWith(6, odd).sensors.powerMilliwatts) << odd;
    EXPECT_EQ(lineWith(6, "0").sensors.powerMilliwatts, 0U);
}

TEST(NvidiaSmi, WithoutAnIndexALineIsNoDevice) {
    for (const char* text :
         {"", "\n\n", "NVIDIA-SMI has failed because it couldn't communicate with the driver.\n",
          "0\n", "0, GPU-a, 1, 2, 3, 4, 5\n", "-1, GPU-a, 1, 2, 3, 4, 5, M\n",
          "65536, GPU-a, 1, 2, 3, 4, 5, M\n", "x, GPU-a, 1, 2, 3, 4, 5, M\n", ",,,,,,,,,,\n"})
        EXPECT_TRUE(readNvidiaSmi(text, Time{}).empty()) << text;
    EXPECT_TRUE(readNvidiaSmi(std::string(1 << 20, ','), Time{}).empty());
    EXPECT_TRUE(readNvidiaSmi(std::string(1000, '\0'), Time{}).empty());
}

TEST(NvidiaSmi, OneIndexIsOneDeviceAndThereAreNotMoreThanSoMany) {
    const auto twice =
        readNvidiaSmi("0, GPU-a, 1, 2, 3, 4, 5, M\n0, GPU-b, 9, 9, 9, 9, 9, N\n", {});
    ASSERT_EQ(twice.size(), 1U);
    EXPECT_EQ(twice[0].device.uuid, "GPU-a");
    std::string many;
    for (std::size_t index = 0; index < 2 * maxDevices; ++index)
        many += std::to_string(index) + ", GPU-a, 1, 2, 3, 4, 5, M\n";
    EXPECT_EQ(readNvidiaSmi(many, {}).size(), maxDevices);
}

TEST(NvidiaSmi, ItsTextIsSafeAndShort) {
    const DeviceState escaped = lineWith(7, "a\x1b[31m\"b\\\xff");
    EXPECT_EQ(escaped.device.model, "a\\x1b[31m\"b\\\\xff");
    EXPECT_LE(lineWith(1, std::string(1 << 20, 'x')).device.uuid.size(), maxLabelLength);
}

} // namespace

} // namespace genv::monitor
