// SPDX-License-Identifier: LGPL-2.1-or-later
// The devices that a request gets, and when it gets none.
#include "tests/core/ledger_fixture.hpp"

namespace genv::tests {
namespace {

using core::AttachRequest;
using core::CountWanted;
using core::ErrorCode;
using core::IndicesWanted;
using core::UuidsWanted;
using Indices = std::vector<core::DeviceIndex>;

class Placement : public LedgerTest {
  protected:
    ErrorCode refusal(const std::string& id, const AttachRequest& request) {
        return codeOf([&] { planned(id, request); });
    }
};

TEST_F(Placement, GivesTheLowestFreeIndices) {
    haveGpus(4);
    activate("10", alice);
    activate("20", bob);
    attachIndices("10", {0});
    attachCount("20", 2);
    EXPECT_EQ(devicesOf("20"), (Indices{1, 2}));
}

TEST_F(Placement, GivesAllOrNone) {
    haveGpus(3);
    activate("10", alice);
    activate("20", bob);
    attachCount("10", 2);
    EXPECT_EQ(refusal("20", {CountWanted{2}, {}, {}, false}), ErrorCode::DeviceUnavailable);
    EXPECT_EQ(devicesOf("20"), Indices{});
    attachCount("20", 1);
    EXPECT_EQ(devicesOf("20"), Indices{2});
}

TEST_F(Placement, DistinguishesTakenFromMoreThanThereAre) {
    haveGpus(2);
    activate("10", alice);
    activate("20", bob);
    attachCount("10", 2);
    EXPECT_EQ(refusal("20", {CountWanted{1}, {}, {}, false}), ErrorCode::DeviceUnavailable);
    EXPECT_EQ(refusal("20", {CountWanted{3}, {}, {}, false}), ErrorCode::NotEnoughDevices);
    EXPECT_EQ(refusal("20", {CountWanted{3}, {}, {}, true}), ErrorCode::NotEnoughDevices);
}

TEST_F(Placement, SaysTheWordsThatScriptsMatch) {
    haveGpus(2);
    activate("10", alice);
    activate("20", bob);
    attachCount("10", 2);
    const auto text = [&](const AttachRequest& request) -> std::string {
        try {
            planned("20", request);
        } catch (const core::Error& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(text({CountWanted{1}, {}, {}, false}), "No available devices");
    EXPECT_EQ(text({IndicesWanted{{1}}, {}, {}, false}), "Device 1 is not available");
    EXPECT_EQ(text({CountWanted{5}, {}, {}, false}),
              "Requested more devices (5) than total available (2)");
}

TEST_F(Placement, SaysWhatNoDeviceOrTooFewHave) {
    haveGpus(2);
    activate("10", alice);
    const auto text = [&](std::uint32_t count, std::optional<core::Bytes> share,
                          std::optional<std::string> model) -> std::string {
        try {
            planned("10", {CountWanted{count}, std::move(model), share, false});
        } catch (const core::Error& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(text(1, core::Bytes{500ULL << 30}, {}), "no GPU has 500 GiB of memory");
    EXPECT_EQ(text(3, core::Bytes{1ULL << 30}, {}),
              "requested 3 GPUs, but only 2 have 1 GiB of memory");
    EXPECT_EQ(text(1, {}, "H100"), "no GPU is of model \"H100\"");
    EXPECT_EQ(text(1, core::Bytes{1ULL << 30}, "H100"),
              "no GPU is of model \"H100\" with 1 GiB of memory");
}

TEST_F(Placement, CountsWhatIsAttachedAndKeepsASurplus) {
    haveGpus(4);
    activate("10", alice);
    attachIndices("10", {3});
    attachIndices("10", {1});
    attachCount("10", 3);
    EXPECT_EQ(devicesOf("10"), (Indices{0, 1, 3}));
    attachCount("10", 3);
    EXPECT_EQ(devicesOf("10"), (Indices{0, 1, 3})) << "what is attached already has no effect";
    attachCount("10", 1);
    EXPECT_EQ(devicesOf("10"), (Indices{0, 1, 3})) << "a smaller count detaches nothing";
    attachCount("10", 0);
    EXPECT_EQ(devicesOf("10"), (Indices{0, 1, 3}));
}

TEST_F(Placement, DetachesTheSurplusNewestFirstWhereTheCountIsExact) {
    haveGpus(4);
    activate("10", alice);
    attachIndices("10", {3});
    attachIndices("10", {1});
    attachCount("10", 3);
    attach("10", {CountWanted{2, true}, {}, {}, false});
    EXPECT_EQ(devicesOf("10"), (Indices{1, 3})) << "the newest goes";
    attach("10", {CountWanted{3, true}, {}, {}, false});
    EXPECT_EQ(devicesOf("10"), (Indices{0, 1, 3})) << "and more than is attached is attached";
    attach("10", {CountWanted{0, true}, {}, {}, false});
    EXPECT_EQ(devicesOf("10"), Indices{});
}

TEST_F(Placement, SharesADeviceAsFarAsItsMemoryGoes) {
    haveGpus(1);
    activate("10", alice);
    activate("20", bob);
    activate("30", bob);
    attachCount("10", 1, gigabytes(10));
    EXPECT_EQ(refusal("20", {CountWanted{1}, {}, gigabytes(7), false}),
              ErrorCode::DeviceUnavailable);
    attachCount("20", 1, gigabytes(6));
    EXPECT_EQ(ledger.device(0).availableMemory(), core::Bytes{0});
    EXPECT_EQ(refusal("30", {CountWanted{1}, {}, core::Bytes{1}, false}),
              ErrorCode::DeviceUnavailable);
    EXPECT_EQ(refusal("30", {CountWanted{1}, {}, {}, false}), ErrorCode::DeviceUnavailable);
    expectNothingTwice(ledger);
}

TEST_F(Placement, CountsAWholeAttachmentAsAllOfTheMemory) {
    haveGpus(1);
    activate("10", alice);
    activate("20", bob);
    attachCount("10", 1);
    EXPECT_EQ(refusal("20", {CountWanted{1}, {}, core::Bytes{1}, false}),
              ErrorCode::DeviceUnavailable);
}

TEST_F(Placement, NeverGivesAWholeDeviceThatIsShared) {
    haveGpus(1);
    activate("10", alice);
    activate("20", bob);
    attachCount("10", 1, core::Bytes{1});
    EXPECT_EQ(refusal("20", {CountWanted{1}, {}, {}, false}), ErrorCode::DeviceUnavailable);
}

TEST_F(Placement, RefusesAShareThatNoDeviceHas) {
    haveGpus(2);
    activate("10", alice);
    EXPECT_EQ(refusal("10", {CountWanted{1}, {}, gigabytes(17), false}),
              ErrorCode::NotEnoughDevices);
    EXPECT_EQ(refusal("10", {CountWanted{1}, {}, gigabytes(17), true}),
              ErrorCode::NotEnoughDevices);
    EXPECT_EQ(refusal("10", {IndicesWanted{{0}}, {}, gigabytes(17), true}), ErrorCode::InvalidArgs);
}

TEST_F(Placement, OverSubscribesTheLeastPopulatedOnlyWhenAskedAndNeeded) {
    haveGpus(2);
    activate("10", alice);
    activate("20", bob);
    constexpr core::Uid carol = 1003;
    constexpr core::Uid dora = 1004;
    activate("30", carol);
    attachIndices("10", {0});
    attachCount("20", 1, std::nullopt, true);
    EXPECT_EQ(devicesOf("20"), Indices{1}) << "a free one comes first";
    EXPECT_FALSE(ledger.get("20").attachments[0].overSubscribed);
    attachCount("30", 1, std::nullopt, true);
    EXPECT_EQ(devicesOf("30"), Indices{0});
    EXPECT_TRUE(ledger.get("30").attachments[0].overSubscribed);
    activate("40", dora);
    attachCount("40", 1, std::nullopt, true);
    EXPECT_EQ(devicesOf("40"), Indices{1}) << "device 0 has two environments by now";
    expectNothingTwice(ledger);
}

TEST_F(Placement, TakesNamedDevicesBesideWhatIsAttached) {
    haveGpus(4);
    activate("10", alice);
    attachIndices("10", {2});
    attachIndices("10", {0, 2, 0});
    EXPECT_EQ(devicesOf("10"), (Indices{0, 2}));
    attach("10", {UuidsWanted{{"GPU-3", "GPU-1", "GPU-3"}}, {}, {}, false});
    EXPECT_EQ(devicesOf("10"), (Indices{0, 1, 2, 3}));
}

TEST_F(Placement, RefusesNamedDevicesThatAreNotThere) {
    haveGpus(2);
    activate("10", alice);
    EXPECT_EQ(refusal("10", {IndicesWanted{{0, 2}}, {}, {}, false}), ErrorCode::NoSuchDevice);
    EXPECT_EQ(refusal("10", {UuidsWanted{{"GPU-9"}}, {}, {}, false}), ErrorCode::NoSuchDevice);
    EXPECT_EQ(refusal("10", {UuidsWanted{{"GPU-0", "GPU-9"}}, {}, {}, false}),
              ErrorCode::NoSuchDevice);
    EXPECT_EQ(refusal("10", {IndicesWanted{{}}, {}, {}, false}), ErrorCode::InvalidArgs);
    EXPECT_EQ(refusal("10", {UuidsWanted{}, {}, {}, false}), ErrorCode::InvalidArgs);
}

TEST_F(Placement, ChoosesByModel) {
    core::Observation mixed;
    mixed.devices = {sampleOf(gpuFacts(0, "NVIDIA GeForce RTX 2080 Ti")),
                     sampleOf(gpuFacts(1, "NVIDIA A100-SXM4-80GB")),
                     sampleOf(gpuFacts(2, "NVIDIA A100-SXM4-80GB"))};
    ledger.observed(mixed);
    activate("10", alice);
    attach("10", {CountWanted{1}, "a100", {}, false});
    EXPECT_EQ(devicesOf("10"), Indices{1});
    EXPECT_EQ(refusal("10", {CountWanted{3}, "A100", {}, false}), ErrorCode::NotEnoughDevices);
    EXPECT_EQ(refusal("10", {IndicesWanted{{0}}, "A100", {}, false}), ErrorCode::NoSuchDevice);
    attach("10", {IndicesWanted{{0}}, "2080", {}, false});
    EXPECT_EQ(devicesOf("10"), (Indices{0, 1}));
    attach("10", {CountWanted{0, true}, "A100", {}, false});
    EXPECT_EQ(devicesOf("10"), Indices{0}) << "a count of a model is about that model";
}

TEST(Model, MatchesInAnyCaseOfItsLetters) {
    const core::DeviceFacts facts = gpuFacts(0, "AZ az @[`{");
    for (const char* part : {"AZ AZ", "az az", "Az aZ @[`{"})
        EXPECT_TRUE(core::matchesModel(facts, part)) << part;
    for (const char* part : {"`[", "@{", "z a z"})
        EXPECT_FALSE(core::matchesModel(facts, part)) << part;
}

TEST_F(Placement, PrefersHealthyDevicesWithoutForeignProcesses) {
    core::Observation observation = gpus(3);
    observation.devices[0].health = {core::Health::State::Xid, 79};
    observation.processes = {computeProcess(500, bob, {"GPU-1"})};
    ledger.observed(observation);
    activate("10", alice);
    attachCount("10", 1);
    EXPECT_EQ(devicesOf("10"), Indices{2});
    const core::Placement second = planned("10", {CountWanted{2}, {}, {}, false});
    ASSERT_EQ(second.attach.size(), 1U);
    EXPECT_EQ(second.attach[0].facts.index, 1U) << "busy is better than ill";
    EXPECT_TRUE(second.attach[0].occupied);
}

TEST_F(Placement, NeverGivesALostDevice) {
    core::Observation observation = gpus(2);
    observation.devices[0].health = {core::Health::State::Lost, 0};
    ledger.observed(observation);
    activate("10", alice);
    EXPECT_EQ(refusal("10", {IndicesWanted{{0}}, {}, {}, true}), ErrorCode::DeviceUnavailable);
    EXPECT_EQ(refusal("10", {CountWanted{2}, {}, {}, true}), ErrorCode::NotEnoughDevices);
    attachCount("10", 1);
    EXPECT_EQ(devicesOf("10"), Indices{1});
}

TEST_F(Placement, NeverMixesGpusAndMigInstances) {
    core::Observation observation = gpus(1);
    observation.devices.push_back(sampleOf(migFacts(1)));
    observation.devices.push_back(sampleOf(migFacts(2)));
    ledger.observed(observation);
    activate("10", alice);
    EXPECT_EQ(refusal("10", {IndicesWanted{{0, 1}}, {}, {}, false}), ErrorCode::InvalidArgs);
    EXPECT_EQ(refusal("10", {CountWanted{3}, {}, {}, false}), ErrorCode::NotEnoughDevices);
    attachCount("10", 2);
    EXPECT_EQ(devicesOf("10"), (Indices{1, 2})) << "two MIG instances, since there are no two GPUs";
    EXPECT_EQ(refusal("10", {IndicesWanted{{0}}, {}, {}, false}), ErrorCode::InvalidArgs);
    activate("20", bob);
    attachCount("20", 1);
    EXPECT_EQ(devicesOf("20"), Indices{0}) << "GPUs come first";
}

TEST_F(Placement, IsStaleOnceItWouldGiveSomethingElse) {
    haveGpus(2);
    activate("10", alice);
    activate("20", bob);
    const core::Placement plan = planned("10", {CountWanted{1}, {}, {}, false});
    EXPECT_TRUE(core::stillHolds(plan, ledger.devices(), ledger.find("10")));
    attachIndices("20", {0});
    EXPECT_FALSE(core::stillHolds(plan, ledger.devices(), ledger.find("10")))
        << "somebody else has the device";
    EXPECT_EQ(codeOf([&] { ledger.attach("10", plan, alice); }), ErrorCode::DeviceUnavailable);

    const core::Placement other = planned("10", {CountWanted{1}, {}, {}, false});
    attachIndices("10", {1});
    EXPECT_FALSE(core::stillHolds(other, ledger.devices(), ledger.find("10")))
        << "the environment has changed";
}

TEST_F(Placement, StillHoldsWhenAnOverSubscribedDeviceGotFree) {
    haveGpus(1);
    activate("10", alice);
    activate("20", bob);
    attachCount("20", 1);
    const core::Placement plan = planned("10", {CountWanted{1}, {}, {}, true});
    EXPECT_TRUE(plan.overSubscribes());
    ledger.detach("20", {}, bob);
    ledger.attach("10", plan, alice);
    EXPECT_FALSE(ledger.get("10").attachments[0].overSubscribed) << "nobody else has it any more";
}

TEST_F(Placement, IsStaleOnceADeviceIsLost) {
    for (const bool overSubscribed : {false, true}) {
        haveGpus(1);
        activate("10", alice);
        activate("20", bob);
        if (overSubscribed)
            attachCount("20", 1);
        const core::Placement plan = planned("10", {CountWanted{1}, {}, {}, overSubscribed});
        EXPECT_EQ(plan.overSubscribes(), overSubscribed);
        core::Observation lost = gpus(1);
        lost.devices[0].health = {core::Health::State::Lost, 0};
        ledger.observed(lost);
        EXPECT_EQ(codeOf([&] { ledger.attach("10", plan, alice); }), ErrorCode::DeviceUnavailable);
        EXPECT_EQ(devicesOf("10"), Indices{});
        processes.exit(10);
        processes.exit(20);
    }
}

TEST_F(Placement, NamesTheDevicesThereAreToThoseWhoAskForAnother) {
    activate("10", alice);
    const auto text = [&] {
        try {
            planned("10", {IndicesWanted{{200}}, {}, {}, false});
        } catch (const core::Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_EQ(text(), "there is no device 200 on this machine, which has none");
    haveGpus(2);
    EXPECT_EQ(text(), "there is no device 200 on this machine, which has 0, 1");
    haveGpus(100);
    EXPECT_LT(text().size(), 130U) << "nobody reads a hundred numbers";
    EXPECT_EQ(text().substr(text().size() - 5), ", ...");
}

TEST_F(Placement, PrefersDevicesThatTheDriverAnswersFor) {
    haveGpus(2);
    core::Observation observation = gpus(2);
    observation.devices[0].health = {core::Health::State::Stale, 0};
    ledger.observed(observation);
    activate("10", alice);
    attachCount("10", 1);
    EXPECT_EQ(devicesOf("10"), Indices{1});
    activate("20", bob);
    attachCount("20", 1);
    EXPECT_EQ(devicesOf("20"), Indices{0}) << "but one that is stale is better than none";
}

TEST_F(Placement, CountsWhatARequestStillLacks) {
    haveGpus(4);
    activate("10", alice);
    attachIndices("10", {0, 1});
    const core::EnvironmentRecord& environment = ledger.get("10");
    const auto missing = [&](const AttachRequest& request) {
        return core::missing(request, environment);
    };
    EXPECT_EQ(missing({CountWanted{3}, {}, {}, false}), 1U);
    EXPECT_EQ(missing({CountWanted{1}, {}, {}, false}), 0U);
    EXPECT_EQ(missing({CountWanted{1}, "H100", {}, false}), 1U) << "it has none of these";
    EXPECT_EQ(missing({IndicesWanted{{1, 2, 3, 3}}, {}, {}, false}), 2U);
    EXPECT_EQ(missing({UuidsWanted{{"GPU-0"}}, {}, {}, false}), 0U);
    EXPECT_EQ(missing({UuidsWanted{{"GPU-3"}}, {}, {}, false}), 1U);
    EXPECT_EQ(missing({UuidsWanted{{"GPU-3", "GPU-0", "GPU-2", "GPU-3"}}, {}, {}, false}), 2U);
}

TEST_F(Placement, IfAvailableIsTheSameOrNothing) {
    haveGpus(3);
    activate("10", alice);
    activate("20", bob);
    attachIndices("10", {0, 2});
    const core::EnvironmentRecord& environment = ledger.get("20");
    const auto ifAvailable = [&](const AttachRequest& request) {
        return core::placeIfAvailable(request, ledger.devices(), &environment);
    };
    for (const AttachRequest& request : {AttachRequest{CountWanted{1}, {}, {}, false},
                                         AttachRequest{IndicesWanted{{1}}, {}, {}, false},
                                         AttachRequest{UuidsWanted{{"GPU-0"}}, {}, {}, true}}) {
        const auto placement = ifAvailable(request);
        ASSERT_TRUE(placement.has_value());
        EXPECT_TRUE(core::haveSameOutcome(*placement, planned("20", request)));
    }
    for (const AttachRequest& request : {AttachRequest{CountWanted{2}, {}, {}, false},
                                         AttachRequest{IndicesWanted{{1, 2}}, {}, {}, false},
                                         AttachRequest{UuidsWanted{{"GPU-0"}}, {}, {}, false}}) {
        EXPECT_FALSE(ifAvailable(request).has_value());
        EXPECT_EQ(refusal("20", request), ErrorCode::DeviceUnavailable);
    }
    EXPECT_EQ(codeOf([&] {
                  ifAvailable({CountWanted{4}, {}, {}, false});
              }),
              ErrorCode::NotEnoughDevices);
}

TEST(Placements, AreAsGoodOnlyWithoutMoreDevicesThatOthersHaveUseOrWaitFor) {
    core::Placement plain;
    plain.attach.resize(2);
    std::vector<core::Placement> worse(4, plain);
    worse[0].attach[1].overSubscribed = true;
    worse[1].attach[1].occupied = true;
    worse[2].attach[1].withoutConsent = {"10"};
    worse[3].attach[1].keptFor = {7};
    for (const core::Placement& placement : worse) {
        EXPECT_FALSE(core::isAsGood(placement, plain));
        EXPECT_TRUE(core::isAsGood(plain, placement));
        EXPECT_TRUE(core::isAsGood(placement, placement));
    }
}

} // namespace
} // namespace genv::tests
