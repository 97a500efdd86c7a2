// SPDX-License-Identifier: LGPL-2.1-or-later
// The snapshot has exactly the keys by which the old tool's readers distinguish types.
#include "core/ledger/snapshot.hpp"
#include "tests/core/ledger_fixture.hpp"

#include <nlohmann/json.hpp>

namespace genv::tests {
namespace {

using nlohmann::json;

std::set<std::string> keysOf(const json& object) {
    std::set<std::string> keys;
    for (const auto& [key, value] : object.items())
        keys.insert(key);
    return keys;
}

class Snapshot : public LedgerTest {
  protected:
    Snapshot() {
        haveGpus(2);
        activate("10", alice, {"Yesterday", 1, gigabytes(4)});
        activate("20", bob);
        attachCount("10", 1, gigabytes(4));
        attachIndices("20", {1});
        core::Observation observation = gpus(2);
        core::ObservedProcess own = computeProcess(500, alice, {"GPU-0"}, {42ULL << 20});
        own.ancestors = {{10, 7}};
        core::ObservedProcess foreign = computeProcess(501, bob, {"GPU-1"});
        foreign.uses[0].usedMemory.reset();
        observation.processes = {own, foreign};
        all = json::parse(core::snapshot(ledger, observation));
    }
    json all;
};

TEST_F(Snapshot, HasNoTotalThatIsUnknown) {
    core::Observation observation = gpus(2);
    observation.devices[0].facts.totalMemory = {};
    ledger.observed(observation);
    all = json::parse(core::snapshot(ledger, observation));
    EXPECT_EQ(all["devices"]["devices"][0]["total_memory"], nullptr);
    EXPECT_EQ(all["devices"]["devices"][1]["total_memory"], "15258mi");
}

TEST_F(Snapshot, HasExactlyTheDocumentedKeys) {
    using Keys = std::set<std::string>;
    EXPECT_EQ(keysOf(all), (Keys{"processes", "envs", "devices"}));
    EXPECT_EQ(keysOf(all["processes"]), Keys{"processes"});
    EXPECT_EQ(keysOf(all["envs"]), Keys{"envs"});
    EXPECT_EQ(keysOf(all["devices"]), Keys{"devices"});
    for (const json& process : all["processes"]["processes"]) {
        EXPECT_EQ(keysOf(process), (Keys{"pid", "used_gpu_memory", "eid"}));
        for (const json& use : process["used_gpu_memory"])
            EXPECT_EQ(keysOf(use), (Keys{"index", "gpu_memory"}));
    }
    for (const json& environment : all["envs"]["envs"]) {
        EXPECT_EQ(keysOf(environment),
                  (Keys{"eid", "uid", "creation", "username", "config", "pids", "kernel_ids"}));
        EXPECT_EQ(keysOf(environment["config"]), (Keys{"name", "gpu_memory", "gpus"}));
    }
    for (const json& device : all["devices"]["devices"]) {
        EXPECT_EQ(keysOf(device), (Keys{"index", "total_memory", "attachments"}));
        for (const json& attachment : device["attachments"])
            EXPECT_EQ(keysOf(attachment), (Keys{"eid", "gpu_memory", "time"}));
    }
}

TEST_F(Snapshot, SaysWhatIsThere) {
    const json& process = all["processes"]["processes"][0];
    EXPECT_EQ(process["pid"], 500);
    EXPECT_EQ(process["eid"], "10");
    EXPECT_EQ(process["used_gpu_memory"][0], (json{{"index", 0}, {"gpu_memory", "42mi"}}));
    EXPECT_EQ(all["processes"]["processes"][1]["eid"], nullptr);
    EXPECT_EQ(all["processes"]["processes"][1]["used_gpu_memory"][0]["gpu_memory"], nullptr);
    const json& environment = all["envs"]["envs"][0];
    EXPECT_EQ(environment["eid"], "10");
    EXPECT_EQ(environment["uid"], alice);
    EXPECT_EQ(environment["config"],
              (json{{"name", "Yesterday"}, {"gpu_memory", "4g"}, {"gpus", 1}}));
    EXPECT_EQ(environment["pids"], json::array({10}));
    EXPECT_EQ(all["envs"]["envs"][1]["config"],
              (json{{"name", nullptr}, {"gpu_memory", nullptr}, {"gpus", nullptr}}));
    EXPECT_EQ(all["devices"]["devices"][0]["total_memory"], "15258mi");
    EXPECT_EQ(all["devices"]["devices"][0]["attachments"][0]["gpu_memory"], "4g");
    EXPECT_EQ(all["devices"]["devices"][1]["attachments"][0]["gpu_memory"], nullptr);
}

TEST_F(Snapshot, WritesTimesAsTheOldToolDid) {
    const std::string creation = all["envs"]["envs"][0]["creation"];
    std::tm time{};
    ASSERT_NE(::strptime(creation.c_str(), "%d/%m/%Y %H:%M:%S", &time), nullptr) << creation;
    time.tm_isdst = -1;
    EXPECT_EQ(
        std::mktime(&time),
        std::chrono::system_clock::to_time_t(
            std::chrono::time_point_cast<std::chrono::system_clock::duration>(clock.wallNow())));
}

TEST_F(Snapshot, NamesJupyterKernelsAndLeavesOutDevicesThatAreGone) {
    processes.add(11, alice);
    ledger.addJupyterKernel("10", {"abc", core::adopt(processes.pin(11), alice, alice)}, alice);
    core::Observation observation = gpus(2);
    observation.processes = {computeProcess(500, alice, {"GPU-0", "GPU-gone"})};
    const json now = json::parse(core::snapshot(ledger, observation));
    EXPECT_EQ(now["envs"]["envs"][0]["kernel_ids"], json::array({"abc"}));
    EXPECT_EQ(now["processes"]["processes"][0]["used_gpu_memory"].size(), 1U);
}

} // namespace
} // namespace genv::tests
