// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/libgenv/conversions.hpp"
#include "client/libgenv/option_contents.hpp"
#include "genv/options.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace genv {
namespace {

using client::Dictionary;
using client::toDictionary;

TEST(Options, SendWhatIsSetAndNothingElse) {
    EXPECT_TRUE(toDictionary(ActivateOptions()).empty());
    EXPECT_TRUE(toDictionary(AttachOptions()).empty());
    EXPECT_TRUE(EnforceOptions().values().arguments.empty());
    EXPECT_TRUE(HistoryQuery().values().arguments.empty());
    AttachOptions attach = AttachOptions().setCount(2).setOverSubscribe(true);
    const Dictionary dictionary = toDictionary(attach);
    EXPECT_EQ(dictionary.size(), 2U);
    EXPECT_EQ(dictionary.at("count").get<std::uint32_t>(), 2U);
    EXPECT_TRUE(dictionary.at("over-subscribe").get<bool>());
    EXPECT_TRUE(toDictionary(attach.setExact(true)).at("exact").get<bool>());
    EXPECT_EQ(toDictionary(attach.setPreemptible("no")).at("preemptible").get<std::string>(), "no");
    attach.setPreemptible({});
    EXPECT_TRUE(toDictionary(attach.setCount({}).setOverSubscribe(false).setExact(false)).empty());
}

TEST(Options, SendEveryOptionOfAnActivation) {
    const Dictionary sent = toDictionary(ActivateOptions()
                                             .setId("a")
                                             .setName("b")
                                             .setGpus(2)
                                             .setGpuMemoryBytes(1000)
                                             .setPid(7)
                                             .setKernel("k")
                                             .setAttach(false)
                                             .setUuids({"GPU-1"})
                                             .setModel("A100")
                                             .setOverSubscribe(true)
                                             .setOverSubscribable(true)
                                             .setPreemptible("end")
                                             .setWait(true)
                                             .setTimeout(std::chrono::seconds{5})
                                             .setLifetime(std::chrono::hours{2})
                                             .setUid(1001)
                                             .setJob("12")
                                             .setEvict(true)
                                             .setEnds(Time{std::chrono::seconds{3}}));
    EXPECT_EQ(sent.size(), 19U);
    EXPECT_EQ(sent.at("preemptible").get<std::string>(), "end");
    EXPECT_TRUE(sent.at("over-subscribable").get<bool>());
    EXPECT_EQ(sent.at("job").get<std::string>(), "12");
    EXPECT_TRUE(sent.at("evict").get<bool>());
    EXPECT_EQ(sent.at("ends").get<std::uint64_t>(), 3'000'000U);
    EXPECT_EQ(sent.at("id").get<std::string>(), "a");
    EXPECT_EQ(sent.at("name").get<std::string>(), "b");
    EXPECT_EQ(sent.at("gpus").get<std::uint32_t>(), 2U);
    EXPECT_EQ(sent.at("gpu-memory").get<std::uint64_t>(), 1000U);
    EXPECT_EQ(sent.at("pid").get<std::uint32_t>(), 7U);
    EXPECT_EQ(sent.at("kernel").get<std::string>(), "k");
    EXPECT_FALSE(sent.at("attach").get<bool>());
    EXPECT_EQ(sent.at("uuids").get<std::vector<std::string>>(), std::vector<std::string>{"GPU-1"});
    EXPECT_EQ(sent.at("model").get<std::string>(), "A100");
    EXPECT_TRUE(sent.at("over-subscribe").get<bool>());
    EXPECT_TRUE(sent.at("wait").get<bool>());
    EXPECT_EQ(sent.at("timeout").get<std::uint64_t>(), 5U);
    EXPECT_EQ(sent.at("lifetime").get<std::uint64_t>(), 7200U);
    EXPECT_EQ(sent.at("uid").get<std::uint32_t>(), 1001U);
}

TEST(Options, NameDevicesAsEveryServiceUnderstandsIt) {
    AttachOptions attach = AttachOptions().setIndices({2});
    EXPECT_EQ(toDictionary(attach).at("index").get<std::uint32_t>(), 2U);
    attach.setIndices({}).setUuids({"GPU-1"});
    EXPECT_EQ(toDictionary(attach).size(), 1U);
    EXPECT_EQ(toDictionary(attach).at("uuid").get<std::string>(), "GPU-1");
    const std::vector<std::string> two{"GPU-1", "GPU-2"};
    attach.setUuids(two);
    EXPECT_EQ(toDictionary(attach).size(), 1U);
    EXPECT_EQ(toDictionary(attach).at("uuids").get<std::vector<std::string>>(), two);
    const std::vector<std::uint32_t> indices{0, 3};
    EXPECT_EQ(toDictionary(ActivateOptions().setIndices(indices))
                  .at("indices")
                  .get<std::vector<std::uint32_t>>(),
              indices);
}

TEST(Options, SendATimeoutOnlyWithAWait) {
    AttachOptions options = AttachOptions().setTimeout(std::chrono::seconds{5});
    EXPECT_TRUE(toDictionary(options).empty());
    EXPECT_FALSE(options.waits());
    EXPECT_EQ(options.timeout(), std::chrono::seconds{5});
    options.setWait(true);
    EXPECT_TRUE(options.waits());
    EXPECT_EQ(toDictionary(options).size(), 2U);
    EXPECT_EQ(toDictionary(options).at("timeout").get<std::uint64_t>(), 5U);
    const ActivateOptions activation = ActivateOptions().setWait(true);
    EXPECT_TRUE(activation.waits());
    EXPECT_EQ(activation.timeout(), std::nullopt);
    EXPECT_EQ(toDictionary(activation).size(), 1U);
}

TEST(Options, TellAChangeFromNoChangeAndFromUnsetting) {
    ConfigurationChange change;
    EXPECT_TRUE(change.values().arguments.empty() && change.values().unset.empty());
    change.setGpus(2).setName({});
    EXPECT_EQ(change.values().arguments.size(), 1U);
    EXPECT_EQ(change.values().arguments.at("gpus").get<std::uint32_t>(), 2U);
    EXPECT_EQ(change.values().unset, std::vector<std::string>{"name"});
    change.setName("a").setGpus({}).setGpus({});
    EXPECT_EQ(change.values().arguments.size(), 1U);
    EXPECT_EQ(change.values().arguments.at("name").get<std::string>(), "a");
    EXPECT_EQ(change.values().unset, std::vector<std::string>{"gpus"});
}

TEST(Options, SetAndUnsetALease) {
    ConfigurationChange change;
    change.setLifetime(std::chrono::minutes{1});
    EXPECT_EQ(change.values().arguments.at("lifetime").get<std::uint64_t>(), 60U);
    change.setLifetime({});
    EXPECT_TRUE(change.values().arguments.empty());
    EXPECT_EQ(change.values().unset, std::vector<std::string>{"lifetime"});
}

TEST(Options, SayOnlyWhichRulesAndLimitsAreGiven) {
    const std::map<std::string, std::uint32_t> users{{"alice", 2}};
    const EnforceOptions options = EnforceOptions()
                                       .setRule("env-devices", false)
                                       .setCount("max-devices-per-user", 0)
                                       .setAmount("max-gpu-memory-per-user", 5)
                                       .setAmount("max-lifetime", 7200)
                                       .setMaxDevicesForUser(users)
                                       .setDryRun(true)
                                       .setTerminate(false);
    const Dictionary& sent = options.values().arguments;
    EXPECT_EQ(sent.at("max-devices-per-user").get<std::uint32_t>(), 0U);
    EXPECT_EQ((sent.at("max-devices-for-user").get<std::map<std::string, std::uint32_t>>()), users);
    EXPECT_EQ(sent.at("max-gpu-memory-per-user").get<std::uint64_t>(), 5U);
    EXPECT_EQ(sent.at("max-lifetime").get<std::uint64_t>(), 7200U);
    EXPECT_TRUE(sent.at("dry-run").get<bool>());
    EXPECT_FALSE(sent.at("terminate").get<bool>());
    EXPECT_FALSE(sent.at("env-devices").get<bool>());
    EXPECT_EQ(sent.size(), 7U);
}

TEST(Options, SayWhichEventsMatch) {
    const HistoryQuery query = HistoryQuery()
                                   .setSince(Time{std::chrono::seconds{1}})
                                   .setUntil(Time{std::chrono::seconds{2}})
                                   .setUid(1001)
                                   .setEnvironment("a")
                                   .setDeviceUuid("GPU-1")
                                   .setKinds({"attached"});
    EXPECT_EQ(query.since(), Time{std::chrono::seconds{1}});
    EXPECT_EQ(query.until(), Time{std::chrono::seconds{2}});
    EXPECT_EQ(query.uid(), 1001U);
    EXPECT_FALSE(query.everybody());
    const Dictionary& sent = query.values().arguments;
    EXPECT_EQ(sent.at("uid").get<std::uint32_t>(), 1001U);
    EXPECT_EQ(sent.at("environment").get<std::string>(), "a");
    EXPECT_EQ(sent.at("device").get<std::string>(), "GPU-1");
    EXPECT_EQ(sent.at("kinds").get<std::vector<std::string>>(),
              std::vector<std::string>{"attached"});
    EXPECT_EQ(sent.size(), 4U);
    EXPECT_TRUE(HistoryQuery().setEverybody(true).everybody());
}

TEST(Options, AreValues) {
    ActivateOptions first = ActivateOptions().setPid(7);
    ActivateOptions second = first;
    second.setPid(8);
    EXPECT_EQ(first.pid(), 7U);
    EXPECT_EQ(second.pid(), 8U);
    const ActivateOptions third = std::move(second);
    EXPECT_EQ(third.pid(), 8U);
    second = ActivateOptions().setKernel("k"); // a moved-from object accepts a new value
    EXPECT_EQ(second.pid(), std::nullopt);
    EXPECT_EQ(second.kernel(), "k");
}

TEST(Options, MovedFromAreAsNew) {
    AttachOptions options = AttachOptions().setWait(true).setCount(2);
    const AttachOptions other = std::move(options);
    // The API guarantees this state.
    // cppcheck-suppress accessMoved
    // NOLINTNEXTLINE(bugprone-use-after-move, hicpp-invalid-access-moved)
    EXPECT_TRUE(toDictionary(options).empty());
    EXPECT_EQ(toDictionary(options.setCount(3)).size(), 1U);
    EXPECT_EQ(toDictionary(other).size(), 2U);
}

} // namespace
} // namespace genv
