// SPDX-License-Identifier: LGPL-2.1-or-later
// A Slurm job is an environment that only Slurm changes.
#include "core/ledger/recovery.hpp"
#include "core/limits/admission.hpp"
#include "core/state/state_schema.hpp"
#include "tests/core/jobs_fixture.hpp"

namespace genv::tests {
namespace {

using namespace std::chrono_literals;
using core::ErrorCode;

TEST_F(SlurmJobLedger, LivesWithoutAProcessUntilRootEndsIt) {
    start(12, alice, {1, 2});
    const core::EnvironmentRecord& environment = ledger.get("slurm-12");
    EXPECT_EQ(environment.uid, alice);
    EXPECT_EQ(environment.job->id, 12U);
    EXPECT_TRUE(environment.isAlive() && environment.processes.empty());
    EXPECT_EQ(devicesOf("slurm-12"), (Indices{1, 2}));
    ledger.deactivate("slurm-12", root);
    EXPECT_EQ(ledger.find("slurm-12"), nullptr);
    EXPECT_TRUE(store.documents.empty());
    const auto removed = emittedOf<core::EnvironmentRemoved>();
    ASSERT_EQ(removed.size(), 1U);
    EXPECT_EQ(removed[0].cause.reason.text(), "job");
    ASSERT_EQ(emittedOf<core::Detached>().size(), 2U);
    EXPECT_EQ(emittedOf<core::Detached>()[0].cause.reason.text(), "job");
    EXPECT_FALSE(emittedOf<core::Detached>()[0].cause.endsProcesses) << "Slurm ends them";
}

TEST_F(SlurmJobLedger, OfRootsEndsByRootAsWell) {
    ledger.startJob(job(12, root, {0}));
    ledger.deactivate("slurm-12", root);
    EXPECT_EQ(ledger.find("slurm-12"), nullptr);
}

TEST_F(SlurmJobLedger, IsTheSameWhenItIsToldTwice) {
    start(12, alice, {1, 2});
    const core::EnvironmentRecord before = ledger.get("slurm-12");
    emitted.clear();
    start(12, alice, {1, 2});
    start(12, alice, {2, 1});
    EXPECT_EQ(ledger.get("slurm-12"), before);
    EXPECT_TRUE(emitted.empty());
}

TEST_F(SlurmJobLedger, GetsExactlyTheDevicesThatItIsToldAnew) {
    start(12, alice, {1, 2});
    start(12, alice, {2, 3});
    EXPECT_EQ(devicesOf("slurm-12"), (Indices{2, 3}));
    EXPECT_EQ(emittedOf<core::EnvironmentAdded>().size(), 1U);
}

TEST_F(SlurmJobLedger, OfAnotherOwnerTakesThePlaceOfOneWithItsNumber) {
    start(12, alice, {1});
    start(12, bob, {1});
    EXPECT_EQ(ledger.get("slurm-12").uid, bob);
    EXPECT_EQ(devicesOf("slurm-12"), Indices{1});
    EXPECT_EQ(emittedOf<core::EnvironmentRemoved>().size(), 1U);
    EXPECT_TRUE(ledger.environmentsOf(alice).empty());
}

TEST_F(SlurmJobLedger, OfAnotherRunTakesThePlaceOfTheFormerOne) {
    core::NewSlurmJob first = job(12, alice, {1});
    first.sluid = core::Sluid{7};
    ledger.startJob(first);
    const std::uint64_t sequence = ledger.get("slurm-12").sequence;
    ledger.startJob(first);
    start(12, alice, {1});
    EXPECT_EQ(ledger.get("slurm-12").sequence, sequence) << "the same run, also without its SLUID";
    EXPECT_EQ(ledger.get("slurm-12").job->sluid, core::Sluid{7});
    core::NewSlurmJob requeued = job(12, alice, {2});
    requeued.sluid = core::Sluid{8};
    ledger.startJob(requeued);
    EXPECT_NE(ledger.get("slurm-12").sequence, sequence);
    EXPECT_EQ(devicesOf("slurm-12"), Indices{2});
    EXPECT_EQ(ledger.findJob(core::Sluid{7}), nullptr);
    EXPECT_EQ(ledger.findJob(core::Sluid{8}), ledger.find("slurm-12"));
}

TEST_F(SlurmJobLedger, LearnsTheSluidThatItsPrologDidNotTell) {
    start(12, alice, {1});
    ledger.setJobSluid(13, {7});
    ledger.setJobSluid(12, {7});
    EXPECT_EQ(ledger.findJob(core::Sluid{7}), ledger.find("slurm-12"));
    EXPECT_NE(store.documents.at("slurm-12").find("s0000000000007"), std::string::npos);
    ledger.setJobSluid(12, {8});
    EXPECT_EQ(ledger.get("slurm-12").job->sluid, core::Sluid{7}) << "it is the first that counts";
}

TEST_F(SlurmJobLedger, SharesDevicesWithOtherJobsAlsoAfterARestart) {
    start(12, alice, {1});
    start(13, bob, {1, 2});
    EXPECT_EQ(devicesOf("slurm-12"), Indices{1});
    EXPECT_EQ(devicesOf("slurm-13"), (Indices{1, 2}));
    core::EventHub others;
    core::Ledger again(store, clock, others);
    const auto report = core::recover(again, store, processes, clock.bootNow());
    EXPECT_EQ(report.restored, 2U);
    EXPECT_TRUE(report.conflicts.empty());
    EXPECT_EQ(again.get("slurm-13"), ledger.get("slurm-13"));
    EXPECT_EQ(again.get("slurm-12"), ledger.get("slurm-12"));
}

TEST_F(SlurmJobLedger, TakesItsDevicesFromWhoeverIsNoJobWhereThatIsAskedFor) {
    activate("20", bob);
    attachIndices("20", {0, 1});
    EXPECT_EQ(codeOf([&] { start(12, alice, {1, 2}); }), ErrorCode::DeviceUnavailable);
    EXPECT_EQ(ledger.find("slurm-12"), nullptr) << "nothing changed";
    emitted.clear();
    start(12, alice, {1, 2}, true);
    EXPECT_EQ(devicesOf("20"), Indices{0}) << "exactly these";
    EXPECT_EQ(devicesOf("slurm-12"), (Indices{1, 2}));
    EXPECT_FALSE(ledger.get("slurm-12").attachments[0].overSubscribed);
    const auto detached = emittedOf<core::Detached>();
    ASSERT_EQ(detached.size(), 1U);
    EXPECT_EQ(detached[0].environment, "20");
    EXPECT_EQ(detached[0].cause.reason.text(), "job");
    EXPECT_TRUE(detached[0].cause.endsProcesses);
    EXPECT_TRUE(detached[0].cause.isNews());
}

TEST_F(SlurmJobLedger, ThatCannotBeWrittenTakesNothing) {
    activate("20", bob);
    attachIndices("20", {1});
    store.writesUntilFailure = 1; // of the loser's document, not of the job's
    EXPECT_EQ(codeOf([&] { start(12, alice, {1}, true); }), ErrorCode::StorageFailed);
    EXPECT_EQ(devicesOf("20"), Indices{1});
    EXPECT_EQ(ledger.find("slurm-12"), nullptr);
}

TEST_F(SlurmJobLedger, IsRefusedDevicesThatThereAreNotAndIdsOfOthers) {
    EXPECT_EQ(codeOf([&] { start(12, alice, {9}); }), ErrorCode::NoSuchDevice);
    processes.add(30, root);
    ledger.activate(
        {"slurm-13", root, "root", {}, {core::adopt(processes.pin(30), root, root)}, {}},
        std::nullopt, root);
    EXPECT_EQ(codeOf([&] { start(13, alice, {1}); }), ErrorCode::AlreadyExists);
}

// Versions before jobs permitted users to choose such ids.
TEST_F(SlurmJobLedger, EndsTheEnvironmentThatHasItsIdWhereThatIsAskedFor) {
    processes.add(30, bob);
    ledger.activate({"slurm-13", bob, "bob", {}, {core::adopt(processes.pin(30), bob, bob)}, {}},
                    std::nullopt, bob);
    attachIndices("slurm-13", {1, 3});
    start(13, alice, {1}, true);
    EXPECT_EQ(ledger.get("slurm-13").uid, alice);
    EXPECT_EQ(devicesOf("slurm-13"), Indices{1});
    EXPECT_EQ(emittedOf<core::EnvironmentRemoved>().size(), 1U);
    EXPECT_TRUE(ledger.holdersOf("GPU-3").empty());
}

TEST_F(SlurmJobLedger, IsSlurmsAloneToChange) {
    start(12, alice, {1});
    start(13, alice, {});
    processes.add(40, alice);
    const std::string one = "GPU 1 belongs to Slurm job 12; scancel 12 ends it";
    const auto placement = core::Placement{};
    EXPECT_EQ(refusal([&] { ledger.attach("slurm-12", placement, alice); }), one);
    EXPECT_EQ(refusal([&] { ledger.detach("slurm-12", {}, root); }), one);
    EXPECT_EQ(refusal([&] { ledger.detachDevice(1, std::nullopt, root); }), one);
    core::EnvironmentConfigurationChange change;
    change.name.emplace("x");
    EXPECT_EQ(refusal([&] { ledger.configure("slurm-12", change, alice); }), one);
    EXPECT_EQ(refusal([&] {
                  ledger.addProcess("slurm-12", core::adopt(processes.pin(40), alice, alice),
                                    alice);
              }),
              one);
    EXPECT_EQ(refusal([&] { ledger.removeProcess("slurm-12", 40, alice); }), one);
    EXPECT_EQ(refusal([&] { ledger.removeJupyterKernel("slurm-12", "k", alice); }), one);
    EXPECT_EQ(refusal([&] { ledger.deactivate("slurm-12", alice); }), one);
    EXPECT_EQ(refusal([&] { ledger.deactivate("slurm-13", bob); }),
              "environment slurm-13 belongs to Slurm job 13; scancel 13 ends it");
    start(13, alice, {2, 3});
    EXPECT_EQ(refusal([&] { ledger.deactivate("slurm-13", alice); }),
              "GPUs 2,3 belong to Slurm job 13; scancel 13 ends it");
    EXPECT_EQ(codeOf([&] { ledger.deactivate("slurm-13", alice); }), ErrorCode::NotSupported);
    EXPECT_EQ(ledger.environments().size(), 2U);
}

TEST_F(SlurmJobLedger, CountsInNoLimitAndNoCapOfItsOwner) {
    start(12, alice, {0, 1});
    EXPECT_EQ(core::holdingsOf(ledger, alice).devices(), 0U);
    EXPECT_EQ(core::holdingsOf(ledger, alice).environments, 0U);
    for (core::SlurmJobId id = 100; id < 200; ++id)
        start(id, alice, {});
    EXPECT_NO_THROW(activate("30", alice));
}

TEST_F(SlurmJobLedger, ShowsItsEndAndTellsWhenSlurmMovesIt) {
    core::NewSlurmJob wanted = job(12, alice, {1});
    wanted.ends = clock.wall + std::chrono::hours{1};
    ledger.startJob(wanted);
    EXPECT_EQ(ledger.get("slurm-12").jobEnd(), clock.wall + std::chrono::hours{1});
    emitted.clear();
    ledger.setJobEnd("slurm-12", clock.wall + 2h);
    ledger.setJobEnd("slurm-99", clock.wall + 2h);
    EXPECT_EQ(ledger.get("slurm-12").jobEnd(), clock.wall + 2h);
    const auto changed = emittedOf<core::EnvironmentChanged>();
    ASSERT_EQ(changed.size(), 2U);
    EXPECT_EQ(changed[0].field, core::EnvironmentField::Attached);
    EXPECT_EQ(changed[1].field, core::EnvironmentField::Expires);
    EXPECT_EQ(core::decodeState(store.documents.at("slurm-12")).jobEnd(), clock.wall + 2h);
}

TEST_F(SlurmJobLedger, HasADocumentThatIsNoOthers) {
    start(12, alice, {1});
    std::string document = store.documents.at("slurm-12");
    EXPECT_EQ(core::decodeState(document), ledger.get("slurm-12"));
    for (const std::string forged : {"\"id\":13", "\"id\":0", "\"id\":-1", "\"id\":\"12\""}) {
        std::string other = document;
        other.replace(other.find("\"id\":12"), 7, forged);
        EXPECT_THROW(core::decodeState(other), core::StateError) << forged;
    }
}

// -- devices that are reserved for Slurm

TEST_F(SlurmJobLedger, DevicesOfSlurmsAreGivenToNobodyElse) {
    ledger.reserve({false, {"GPU-0", "GPU-2"}});
    EXPECT_EQ(emittedOf<core::DeviceChanged>().size(), 2U);
    activate("10", alice);
    attachCount("10", 2);
    EXPECT_EQ(devicesOf("10"), (Indices{1, 3}));
    EXPECT_EQ(refusal([&] { attachIndices("10", {0}); }),
              "GPU 0 is Slurm's: use \"srun --gpus=1 COMMAND\"");
    EXPECT_EQ(refusal([&] { attachIndices("10", {0}, true); }),
              "GPU 0 is Slurm's: use \"srun --gpus=1 COMMAND\"")
        << "nor shared";
    EXPECT_EQ(codeOf([&] { attachIndices("10", {0}); }), ErrorCode::DeviceUnavailable);
    EXPECT_EQ(refusal([&] { attachCount("10", 3); }),
              "Requested more devices (3) than total available (2); GPUs 0,2 are Slurm's: use "
              "\"srun --gpus=1 COMMAND\"");
    start(12, bob, {0});
    EXPECT_EQ(devicesOf("slurm-12"), Indices{0});
}

TEST_F(SlurmJobLedger, NoWaitGetsADeviceOfSlurms) {
    ledger.reserve({false, {"GPU-0"}});
    activate("10", alice);
    const core::AttachRequest request{core::IndicesWanted{{0}}, std::nullopt, std::nullopt, false};
    EXPECT_EQ(
        codeOf([&] { return core::placeOrWait(request, ledger.devices(), ledger.find("10"), {}); }),
        ErrorCode::DeviceUnavailable);
}

TEST_F(SlurmJobLedger, ADeviceThatBecameSlurmsMeanwhileIsNotGiven) {
    activate("10", alice);
    const core::Placement placement =
        planned("10", {core::CountWanted{1}, std::nullopt, std::nullopt, false});
    ledger.reserve({true, {}});
    EXPECT_EQ(codeOf([&] { ledger.attach("10", placement, alice); }), ErrorCode::DeviceUnavailable);
}

TEST_F(SlurmJobLedger, ADeviceThatAJobHoldsIsNotSharedWithOthersWhateverTheConfigurationSays) {
    start(12, bob, {0});
    activate("10", alice);
    EXPECT_EQ(codeOf([&] { attachIndices("10", {0}, true); }), ErrorCode::DeviceUnavailable);
    ledger.deactivate("slurm-12", root);
    attachIndices("10", {0});
    EXPECT_EQ(devicesOf("10"), Indices{0});
}

TEST_F(SlurmJobLedger, ADeviceThatComesLaterIsSlurmsAsWell) {
    ledger.reserve({true, {}});
    haveGpus(6);
    EXPECT_TRUE(ledger.device(5).reservedForSlurm);
    ledger.reserve({});
    EXPECT_FALSE(ledger.device(5).reservedForSlurm);
}

} // namespace
} // namespace genv::tests
