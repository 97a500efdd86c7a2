// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/library/conversions.hpp"

#include <gtest/gtest.h>

namespace genv::client {
namespace {

template <typename Value>
sdbus::Variant variant(Value value) {
    return sdbus::Variant(value);
}

Dictionary properties() {
    return {{"Id", variant(std::string("7"))},
            {"Uid", variant(std::uint32_t{1001})},
            {"User", variant(std::string("alice"))},
            {"Name", variant(std::string("a"))},
            {"Created", variant(std::uint64_t{5})},
            {"Gpus", variant(std::uint32_t{2})},
            {"GpuMemory", variant(std::uint64_t{1000})},
            {"Processes", variant(std::vector<std::uint32_t>{7})},
            {"Kernels", variant(std::vector<std::string>{"k"})},
            {"Devices", variant(std::vector<std::uint32_t>{0, 3})},
            {"Expires", variant(std::uint64_t{0})}};
}

TEST(Conversions, ReadAnEnvironment) {
    const Environment environment = toEnvironment(properties());
    EXPECT_EQ(environment.id, "7");
    EXPECT_EQ(environment.uid, 1001U);
    EXPECT_EQ(environment.created, toTime(5));
    EXPECT_EQ(environment.configuration.name, "a");
    EXPECT_EQ(environment.configuration.gpus, 2U);
    EXPECT_EQ(environment.configuration.gpuMemoryBytes, 1000U);
    EXPECT_EQ(environment.devices, (std::vector<std::uint32_t>{0, 3}));
    EXPECT_EQ(environment.expires, std::nullopt);
}

TEST(Conversions, KnowTheNumbersThatMeanUnset) {
    Dictionary unset = properties();
    unset["Name"] = variant(std::string());
    unset["Gpus"] = variant(std::uint32_t{0});
    unset["GpuMemory"] = variant(std::uint64_t{0});
    const Configuration configuration = toEnvironment(unset).configuration;
    EXPECT_EQ(configuration.name, std::nullopt);
    EXPECT_EQ(configuration.gpus, std::nullopt);
    EXPECT_EQ(configuration.gpuMemoryBytes, std::nullopt);
}

TEST(Conversions, RefuseAnAnswerThatLacksSomethingOrHasAnotherType) {
    Dictionary lacking = properties();
    lacking.erase("Devices");
    EXPECT_THROW(toEnvironment(lacking), sdbus::Error);
    Dictionary other = properties();
    other["Gpus"] = variant(std::string("two"));
    EXPECT_THROW(toEnvironment(other), sdbus::Error);
}

TEST(Conversions, SendWhatIsSetAndNothingElse) {
    EXPECT_TRUE(toDictionary(ActivateOptions{}).empty());
    EXPECT_TRUE(toDictionary(AttachOptions{}).empty());
    AttachOptions attach;
    attach.count = 2;
    attach.overSubscribe = true;
    const Dictionary dictionary = toDictionary(attach);
    EXPECT_EQ(dictionary.size(), 2U);
    EXPECT_EQ(dictionary.at("count").get<std::uint32_t>(), 2U);
    EXPECT_TRUE(dictionary.at("over-subscribe").get<bool>());
}

TEST(Conversions, SendAWaitAndItsTimeOnlyTogether) {
    AttachOptions options;
    options.timeout = std::chrono::seconds{5};
    EXPECT_TRUE(toDictionary(options).empty());
    options.wait = true;
    options.lifetime = std::chrono::hours{2};
    const Dictionary sent = toDictionary(options);
    EXPECT_EQ(sent.size(), 3U);
    EXPECT_TRUE(sent.at("wait").get<bool>());
    EXPECT_EQ(sent.at("timeout").get<std::uint64_t>(), 5U);
    EXPECT_EQ(sent.at("lifetime").get<std::uint64_t>(), 7200U);
    ActivateOptions activation;
    activation.wait = true;
    EXPECT_EQ(toDictionary(activation).size(), 1U);
}

TEST(Conversions, SetAndUnsetALease) {
    ConfigurationChange change;
    change.lifetime = std::chrono::minutes{1};
    EXPECT_EQ(toArguments(change).first.at("lifetime").get<std::uint64_t>(), 60U);
    change.lifetime.emplace();
    EXPECT_EQ(toArguments(change).second, std::vector<std::string>{"lifetime"});
}

TEST(Conversions, TellAChangeFromNoChangeAndFromUnsetting) {
    ConfigurationChange change;
    change.gpus = std::optional<std::uint32_t>(2);
    change.name.emplace();
    const auto [set, unset] = toArguments(change);
    EXPECT_EQ(set.size(), 1U);
    EXPECT_EQ(set.at("gpus").get<std::uint32_t>(), 2U);
    EXPECT_EQ(unset, std::vector<std::string>{"name"});
}

TEST(Conversions, KnowEnvironmentsByTheirPaths) {
    for (const char* id : {"1573", "a.b:c@d-e_f", "x"})
        EXPECT_EQ(environmentId(environmentPath(id)), id);
    EXPECT_EQ(environmentPath("a.b"), "/dev/genv/Manager/environment/a_2eb");
    EXPECT_EQ(environmentId("/dev/genv/Manager/device/0"), "");
}

TEST(Conversions, WriteTheDetailsOfNotices) {
    EXPECT_EQ(toText(variant(std::string("a"))), "a");
    EXPECT_EQ(toText(variant(std::uint32_t{7})), "7");
    EXPECT_EQ(toText(variant(std::vector<std::uint32_t>{1, 2})), "1,2");
    EXPECT_EQ(toText(variant(1.5)), "");
}

TEST(Conversions, SayWhichRulesAreWantedAndOnlyTheLimitsThatAreSet) {
    Dictionary dictionary = toDictionary(EnforceOptions{});
    EXPECT_EQ(dictionary.size(), 4U);
    EXPECT_FALSE(dictionary.at("non-env-processes").get<bool>());
    EXPECT_TRUE(dictionary.at("env-devices").get<bool>());
    EXPECT_TRUE(dictionary.at("env-memory").get<bool>());
    EXPECT_TRUE(dictionary.at("terminate").get<bool>());

    EnforceOptions options;
    options.maxDevicesPerUser = 0;
    options.maxDevicesForUser = {{"alice", 2}};
    options.maxGpuMemoryPerUserBytes = 5;
    options.maxLifetime = std::chrono::hours(2);
    options.dryRun = true;
    options.terminate = false;
    dictionary = toDictionary(options);
    EXPECT_EQ(dictionary.at("max-devices-per-user").get<std::uint32_t>(), 0U);
    EXPECT_EQ((dictionary.at("max-devices-for-user").get<std::map<std::string, std::uint32_t>>()),
              options.maxDevicesForUser);
    EXPECT_EQ(dictionary.at("max-gpu-memory-per-user").get<std::uint64_t>(), 5U);
    EXPECT_EQ(dictionary.at("max-lifetime").get<std::uint64_t>(), 7200U);
    EXPECT_TRUE(dictionary.at("dry-run").get<bool>());
    EXPECT_FALSE(dictionary.at("terminate").get<bool>());
    EXPECT_EQ(dictionary.size(), 9U);
}

TEST(Conversions, ReadWhatAnEnforcementDid) {
    const Dictionary all{{"message", variant(std::string("m"))},
                         {"rule", variant(std::string("r"))},
                         {"user", variant(std::string("alice"))},
                         {"pid", variant(std::uint32_t{7})},
                         {"environment", variant(std::string("e"))},
                         {"devices", variant(std::vector<std::uint32_t>{0, 1})}};
    const Dictionary least{{"message", variant(std::string("n"))}};
    const auto actions = toActions(
        {BusActions::value_type("terminate", all), BusActions::value_type("failed", least)});
    ASSERT_EQ(actions.size(), 2U);
    EXPECT_EQ(actions[0].kind, "terminate");
    EXPECT_EQ(actions[0].rule, "r");
    EXPECT_EQ(actions[0].message, "m");
    EXPECT_EQ(actions[0].user, "alice");
    EXPECT_EQ(actions[0].pid, 7U);
    EXPECT_EQ(actions[0].environment, "e");
    EXPECT_EQ(actions[0].devices, (std::vector<std::uint32_t>{0, 1}));
    EXPECT_EQ(actions[1].message, "n");
    EXPECT_EQ(actions[1].pid, std::nullopt);
    EXPECT_EQ(actions[1].environment, std::nullopt);
    EXPECT_TRUE(actions[1].devices.empty());

    EXPECT_THROW(toActions({BusActions::value_type("failed", Dictionary{})}), sdbus::Error);
}

TEST(Conversions, KnowTheLimitThatIsNone) {
    const auto limits = toLimits(
        {{"a", BusLimits::mapped_type(0, 1)}, {"b", BusLimits::mapped_type(UINT64_MAX, 2)}});
    EXPECT_EQ(limits.at("a").allowed, 0U);
    EXPECT_EQ(limits.at("a").used, 1U);
    EXPECT_EQ(limits.at("b").allowed, std::nullopt);
    EXPECT_EQ(limits.at("b").used, 2U);
}

} // namespace
} // namespace genv::client
