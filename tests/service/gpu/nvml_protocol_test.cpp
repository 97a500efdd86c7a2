// SPDX-License-Identifier: LGPL-2.1-or-later
// The lines between the service and genv-nvml: written lines are parsed again, and other lines are
// refused.
#include "service/gpu/nvml_protocol.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <tuple>

using namespace genv;
using namespace genv::service;
using nlohmann::json;

namespace {

NvmlReport fullReport() {
    NvmlReport report;
    report.gpuCount = 4;
    NvmlDevice known{0, std::nullopt, "GPU-1", "NVIDIA A100", core::Bytes{1ULL << 40U}, {}, 79, {}};
    known.reading = {core::Bytes{0}, 100, 38, 250'000, 400'000};
    known.pciAddress = "0000:65:00.0";
    known.memory = {core::Bytes{1ULL << 39U}, core::Bytes{1ULL << 38U}};
    const NvmlDevice unknown{1,
                             6,
                             "MIG-GPU-1/2/0",
                             "\u00e9\\x1b",
                             core::Bytes{0},
                             {},
                             std::nullopt,
                             {{195, 1}, {4095, 1'048'575}}};
    report.devices = {known, unknown};
    report.devices[1].hasUnifiedMemory = true;
    report.failed = {{2, true}, {3, false}};
    report.uses = {{4711, "GPU-1", core::Bytes{42}, 50},
                   {4712, "GPU-1", std::nullopt, 0},
                   {1, "MIG-GPU-1/2/0", std::nullopt},
                   {4711, "GPU-1", core::Bytes{0}}};
    report.driverVersion = "550.54.15";
    report.nodes = {{{241, 2}, "MIG monitor", true},
                    {{226, 128}, "renderD128 of GPU 0", false, "0000:65:00.0"}};
    return report;
}

void expectRefused(const json& answer, const char* why) {
    EXPECT_THROW(decodeAnswer(answer.dump()), ProtocolError) << why << ": " << answer.dump();
}

TEST(NvmlProtocol, ReportsArriveAsTheyWereSent) {
    const NvmlReport sent = fullReport();
    const std::string line = encodeAnswer(7, sent);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const auto [sample, answer] = decodeAnswer(line);
    EXPECT_EQ(sample, 7U);
    const auto& got = std::get<NvmlReport>(answer);
    EXPECT_EQ(got.gpuCount, sent.gpuCount);
    EXPECT_EQ(got.devices, sent.devices);
    EXPECT_EQ(got.failed, sent.failed);
    const auto row = [](const core::ProcessSample& use) {
        return std::tuple(use.pid, use.device, use.usedMemory, use.utilizationPercent);
    };
    EXPECT_TRUE(std::ranges::equal(got.uses, sent.uses, {}, row, row));
    EXPECT_EQ(got.driverVersion, "550.54.15");
    EXPECT_EQ(got.nodes, sent.nodes);
}

TEST(NvmlProtocol, ADriverWithoutAVersionIsOne) {
    const std::string line = encodeAnswer(7, NvmlReport{});
    EXPECT_EQ(std::get<NvmlReport>(decodeAnswer(line).second).driverVersion, "");
}

TEST(NvmlProtocol, KnowsAddressesOnThePciBus) {
    for (const char* text : {"0000:65:00.0", "10000:e1:1f.0", "0000abcd:00:00.7"})
        EXPECT_TRUE(isPciAddress(text)) << text;
    for (const char* text : {"", "0", "65:00.0", "0000:65:00", "0000:65:00.00", "0000-65:00.0",
                             "0000:65-00.0", "0000:65:00:0", "0000:6G:00.0", "0000:AB:00.0",
                             "000000000:65:00.0", "0000:65:00.0\n", "000::65:00.0"})
        EXPECT_FALSE(isPciAddress(text)) << text;
}

TEST(NvmlProtocol, RequestsAndFailuresArriveAsTheyWereSent) {
    EXPECT_EQ(decodeRequest(encodeRequest(9'000'000'000)), 9'000'000'000U);
    EXPECT_LT(encodeRequest(~0ULL >> 1U).size(), maxRequestSize);
    EXPECT_EQ(
        std::get<NvmlNoDriver>(decodeAnswer(encodeAnswer(1, NvmlNoDriver{"none"})).second).reason,
        "none");
    EXPECT_EQ(
        std::get<NvmlFailure>(decodeAnswer(encodeAnswer(1, NvmlFailure{"broken"})).second).reason,
        "broken");
}

TEST(NvmlProtocol, WhatIsNoRequestIsRefused) {
    for (const char* line :
         {"", "7", "[]", "{}", "{\"sample\":-1}", "{\"sample\":1.5}", "{\"sample\":\"1\"}",
          "{\"sample\":1,\"more\":1}", "{\"sample\":18446744073709551616}", "{\"sample\":1}x"})
        EXPECT_THROW(decodeRequest(line), ProtocolError) << line;
}

TEST(NvmlProtocol, WhatIsNoAnswerIsRefused) {
    for (const char* line :
         {"", "null", "[]", "{}", "{\"sample\":1}", "{\"sample\":1,\"error\":7}",
          "{\"sample\":1,\"error\":\"\"}", "{\"sample\":-1,\"error\":\"x\"}", "{\"error\":\"x\"}",
          "{\"sample\":1,\"error\":\"x\",\"no_driver\":\"x\"}",
          "{\"sample\":1,\"error\":\"\\u001b[31m\"}", "{\"sample\":1,\"error\":\"\xff\"}",
          "{\"sample\":1,\"no_driver\":\"\\u202e\"}"})
        EXPECT_THROW(decodeAnswer(line), ProtocolError) << line;
    EXPECT_THROW(
        decodeAnswer(json{{"sample", 1}, {"error", std::string(maxTextLength + 1, 'x')}}.dump()),
        ProtocolError);
}

TEST(NvmlProtocol, AnyMemberThatIsMissingMisplacedOrOutOfRangeIsRefused) {
    const json good = json::parse(encodeAnswer(7, fullReport()));
    ASSERT_NO_THROW(decodeAnswer(good.dump()));
    const auto change = [&](const char* pointer, const json& value) {
        json changed = good;
        changed[json::json_pointer(pointer)] = value;
        expectRefused(changed, pointer);
    };
    change("/more", 1);
    change("/nodes/0/more", 1);
    change("/gpus", 1); // a device is on GPU 1
    change("/gpus", maxDevices + 1);
    change("/devices", json::object());
    change("/devices/0", nullptr);
    change("/devices/0/gpu", nullptr);
    change("/devices/0/gpu", 1); // for an instance
    change("/devices/1/gpu", 0); // for a whole GPU
    change("/failed/0/gpu", 1);
    change("/failed/0/gpu", 3);
    change("/failed/0/gpu", 4);
    change("/devices/0/mig", -1);
    change("/devices/0/uuid", "GPU-1\n");
    change("/devices/0/uuid", "");
    change("/devices/0/uuid", std::string(97, 'x'));
    change("/devices/1/uuid", "GPU-1");
    change("/devices/0/model", "a\u200bb");
    change("/devices/0/total", 1ULL << 63U);
    change("/devices/0/used", "0");
    change("/devices/0/sensors/utilization_percent", 101);
    change("/devices/0/sensors/temperature_celsius", 1001);
    change("/devices/0/sensors/power_milliwatts", 1ULL << 32U);
    change("/devices/0/sensors/power_limit_milliwatts", 1ULL << 32U);
    change("/devices/0/sensors/more", 1);
    change("/devices/0/sensors", nullptr);
    change("/devices/0/pci", "65:00.0");
    change("/devices/0/pci", "");
    change("/devices/0/pci", 65);
    change("/driver", 550);
    change("/driver", "");
    change("/driver", "\u001b[31m");
    change("/uses/0/utilization/0", 101);
    change("/uses/0/utilization/0", "50");
    change("/uses/0/utilization", json::array({50}));
    change("/uses/0/utilization", json::array({50, 0, 0}));
    change("/uses/0/utilization", 50);
    change("/devices/0/xid", true);
    change("/devices/0/more", 1);
    change("/devices/0/nodes", nullptr);
    change("/devices/0/nodes", json::array({json::array({195})}));
    change("/devices/0/nodes", json::array({json::array({195, 0, 0})}));
    change("/devices/0/nodes", json::array({{{"195", 0}, {"0", 0}}}));
    change("/devices/0/nodes", json::array({json::array({4096, 0})}));
    change("/devices/0/nodes", json::array({json::array({195, 1U << 20U})}));
    change("/devices/0/nodes", json::array({json::array({-195, 0})}));
    change("/devices/0/nodes", json::array({json::array({195, "0"})}));
    change("/devices/0/nodes", json(maxNodes + 1, json::array({195, 0})));
    change("/failed/0/lost", 1);
    change("/failed/0", json::array());
    change("/uses/0/pids/0", 0);
    change("/uses/0/pids/0", nullptr);
    change("/uses/0/pids/0", 1ULL << 31U);
    change("/uses/0/pids", json::array({4711}));
    change("/uses/0/device", "GPU-2");
    change("/uses/0/memory/0", -1);
    change("/uses/0/memory", nullptr);
    for (const char* pointer : {"/devices/0", "/devices/0/sensors", "/failed/0", "/uses/0", ""}) {
        for (const auto& [name, value] : good[json::json_pointer(pointer)].items()) {
            json changed = good;
            changed[json::json_pointer(pointer)].erase(name);
            expectRefused(changed, name.c_str());
        }
    }
}

TEST(NvmlProtocol, AnAnswerCutAnywhereIsRefused) {
    const std::string line = encodeAnswer(7, fullReport());
    for (std::size_t length = 0; length < line.size(); ++length)
        EXPECT_THROW(decodeAnswer(line.substr(0, length)), ProtocolError) << length;
}

TEST(NvmlProtocol, DepthAndLengthOfListsAreBounded) {
    // The parser refuses before it builds the value; otherwise it would be built by then.
    try {
        decodeAnswer(std::string(1'000'000, '['));
        ADD_FAILURE();
    } catch (const ProtocolError& error) {
        EXPECT_STREQ(error.what(), "too deep");
    }
    json many = json::parse(encodeAnswer(7, fullReport()));
    many["failed"] = json::array();
    for (std::size_t i = 0; i <= maxDevices; ++i)
        many["failed"].push_back({{"gpu", 0}, {"lost", true}});
    expectRefused(many, "too many");
    // The bound of the uses holds for all devices together.
    many = json::parse(encodeAnswer(7, fullReport()));
    many["uses"].push_back({{"device", "GPU-1"},
                            {"pids", json(maxUses, 1)},
                            {"memory", json::array()},
                            {"utilization", json::array()}});
    try {
        decodeAnswer(many.dump());
        ADD_FAILURE();
    } catch (const ProtocolError& error) {
        EXPECT_EQ(
            error.what(),
            fmt::format("invalid \"pids\": expected a list of at most {} entries", maxUses - 4));
    }
}

} // namespace
