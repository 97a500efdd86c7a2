// SPDX-License-Identifier: LGPL-2.1-or-later
// State documents in every form that any version of genv wrote, each written by that version. After
// an upgrade the service reads all of them. state_upgrades.hpp describes what to add here.
#include "core/state/state_schema.hpp"
#include "core/state/state_upgrades.hpp"
#include "tests/core/fakes.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace genv::tests {
namespace {

using nlohmann::json;

constexpr const char* newest = "version-1-stamps.json";

std::string documentIn(const std::string& file) {
    std::ifstream in(std::filesystem::path(GENV_STATE_DOCUMENTS) / file);
    EXPECT_TRUE(in) << file;
    return {std::istreambuf_iterator<char>(in), {}};
}

core::EnvironmentRecord read(const std::string& file) {
    return core::decodeState(documentIn(file));
}

core::BootTime atSecond(std::int64_t second) {
    return core::BootTime{std::chrono::seconds{second}};
}

TEST(StateDocuments, OfTheFirstGenvAreRead) {
    const core::EnvironmentRecord environment = read("version-1-first.json");
    EXPECT_EQ(environment.id, "1573");
    EXPECT_EQ(environment.uid, alice);
    EXPECT_EQ(environment.user, "alice");
    EXPECT_EQ(environment.created, core::fromMicroseconds(1795000000000001));
    EXPECT_EQ(environment.sequence, 1U);
    EXPECT_EQ(environment.configuration,
              (core::EnvironmentConfiguration{"Norwegian Wood", 2, gigabytes(4)}));
    ASSERT_EQ(environment.processes.size(), 2U);
    EXPECT_EQ(environment.processes[1].identity, (core::ProcessIdentity{1580, 7701}));
    ASSERT_EQ(environment.jupyterKernels.size(), 1U);
    EXPECT_EQ(environment.jupyterKernels[0].id, "kernel-1");
    EXPECT_EQ(environment.jupyterKernels[0].process.identity, (core::ProcessIdentity{1600, 7800}));
    ASSERT_EQ(environment.attachments.size(), 2U);
    EXPECT_EQ(environment.attachments[0].share, gigabytes(4));
    EXPECT_FALSE(environment.attachments[0].overSubscribed);
    EXPECT_TRUE(environment.attachments[1].overSubscribed);
    EXPECT_FALSE(environment.exempt || environment.attachments[0].exempt);
    EXPECT_FALSE(environment.lease || environment.attachments[0].lease);
    EXPECT_TRUE(environment.waits.empty() && environment.locks.empty());
}

TEST(StateDocuments, OfTheGenvThatFirstHadLimitsAreRead) {
    const core::EnvironmentRecord environment = read("version-1-limits.json");
    EXPECT_EQ(environment.began, atSecond(90));
    EXPECT_TRUE(environment.exempt);
    ASSERT_EQ(environment.attachments.size(), 1U);
    EXPECT_TRUE(environment.attachments[0].exempt);
    EXPECT_FALSE(environment.attachments[0].share) << "the whole device";
}

TEST(StateDocuments, OfTheGenvThatFirstHadLeasesAndWaitsAreRead) {
    const core::EnvironmentRecord environment = read("version-1-leases.json");
    EXPECT_EQ(environment.createdSinceBoot, core::BootTime{}) << "every process started later";
    EXPECT_TRUE(environment.attachments[0].keptFor.empty());
    EXPECT_EQ(environment.lease, (core::Lease{atSecond(100), atSecond(40'000'000)}));
    ASSERT_EQ(environment.attachments.size(), 1U);
    EXPECT_EQ(environment.attachments[0].lease, (core::Lease{atSecond(110), atSecond(30'000'000)}));
    ASSERT_EQ(environment.waits.size(), 3U);
    EXPECT_EQ(environment.waits[0].request,
              (core::AttachRequest{core::CountWanted{3}, "RTX", gigabytes(2), false}));
    EXPECT_EQ(environment.waits[0].lifetime, std::chrono::hours{1});
    EXPECT_EQ(environment.waits[1].request.wanted,
              (std::variant<core::CountWanted, core::IndicesWanted, core::UuidsWanted>{
                  core::IndicesWanted{{0, 1}}}));
    EXPECT_TRUE(environment.waits[1].exempt);
    EXPECT_TRUE(std::holds_alternative<core::UuidsWanted>(environment.waits[2].request.wanted));
    ASSERT_EQ(environment.locks.size(), 1U);
    EXPECT_EQ(environment.locks[0].number, 11U);
}

TEST(StateDocuments, OfTheGenvThatFirstHadStampsAndLentKeptDevicesAreRead) {
    const core::EnvironmentRecord environment = read(newest);
    EXPECT_EQ(environment.createdSinceBoot, atSecond(100));
    EXPECT_EQ(environment.attachments[0].keptFor, std::vector<std::uint64_t>{5});
    EXPECT_EQ(environment.waits[0].began, atSecond(120));
}

TEST(StateDocuments, OfTheGenvThatFirstLetEnvironmentsLingerAreRead) {
    const core::EnvironmentRecord lingers = read("version-1-lingering.json");
    EXPECT_TRUE(lingers.isLingering());
    ASSERT_EQ(lingers.processes.size(), 1U);
    EXPECT_TRUE(lingers.processes[0].lingers);
    const core::EnvironmentRecord ending = read("version-1-pending-end.json");
    EXPECT_TRUE(ending.isAlive());
    EXPECT_FALSE(ending.isLingering());
    EXPECT_EQ(ending.pendingEnd, (core::PendingEnd{true, {{3001, 9900}, {3002, 9901}}}));
}

TEST(StateDocuments, OfTheGenvThatFirstKeptThePlacesOfThoseWhoWaitForALockAreRead) {
    const core::EnvironmentRecord environment = read("version-1-lock-waits.json");
    EXPECT_EQ(environment.lockWaits, (std::vector<core::LockWait>{{12, 1003}, {13, 0}}));
}

TEST(StateDocuments, OfTheGenvThatFirstHadSlurmJobsAreRead) {
    const core::EnvironmentRecord environment = read("version-1-jobs.json");
    EXPECT_EQ(environment.job,
              (core::SlurmJob{4711, {}, core::fromMicroseconds(1795000360000000), true}));
    EXPECT_TRUE(environment.isAlive()) << "without a process";
    EXPECT_FALSE(read(newest).job) << "one of an earlier genv is no job's";
}

TEST(StateDocuments, OfTheGenvThatFirstKnewSluidsAreRead) {
    EXPECT_EQ(read("version-1-sluid.json").job->sluid, core::parseSluid("sEKNKTV3WPV500"));
    for (const char* sluid : {"", "4711", "sEKNKTV3WPV50O", "seknktv3wpv500", "\x1b"}) {
        json document = json::parse(documentIn("version-1-sluid.json"));
        document["job"]["sluid"] = sluid;
        EXPECT_THROW(core::decodeState(document.dump()), core::StateError) << sluid;
    }
}

TEST(StateDocuments, OfTheGenvThatFirstHadEnvironmentsWithinOthersAreRead) {
    EXPECT_EQ(read("version-1-children.json").parent, "slurm-4711");
    EXPECT_FALSE(read("version-1-jobs.json").parent) << "a job is within none";
}

TEST(StateDocuments, OfTheGenvThatFirstAskedHoldersForConsentAreRead) {
    EXPECT_TRUE(read("version-1-consent.json").configuration.overSubscribable);
    EXPECT_FALSE(read("version-1-children.json").configuration.overSubscribable)
        << "nobody consented before";
}

TEST(StateDocuments, OfTheGenvThatFirstKeptGrantsAboveALimitAreRead) {
    const core::EnvironmentRecord environment = read("version-1-over-limit.json");
    EXPECT_TRUE(environment.overLimit);
    ASSERT_EQ(environment.attachments.size(), 2U);
    EXPECT_FALSE(environment.attachments[0].overLimit);
    EXPECT_TRUE(environment.attachments[1].overLimit);
    const core::EnvironmentRecord earlier = read("version-1-consent.json");
    EXPECT_FALSE(earlier.overLimit || earlier.attachments[0].overLimit);
}

TEST(StateDocuments, OfTheGenvThatFirstHeldRequestsForAQuotaAreRead) {
    const core::Wait wait = read("version-1-quota-hold.json").waits.at(0);
    EXPECT_TRUE(wait.holdForQuota);
    EXPECT_EQ(wait.heldSince, core::BootTime{std::chrono::microseconds{3600000000}});
    EXPECT_EQ(wait.heldFor, std::chrono::minutes{2});
    const core::Wait earlier = read(newest).waits.at(0);
    EXPECT_FALSE(earlier.holdForQuota || earlier.heldSince);
    EXPECT_EQ(earlier.heldFor, std::chrono::microseconds{0});
}

TEST(StateDocuments, KeepWhoLoggedInToAskForAWait) {
    core::EnvironmentRecord environment = read("version-1-quota-hold.json");
    environment.waits.at(0).actor.login = 1002;
    EXPECT_EQ(core::decodeState(core::encodeState(environment)).waits.at(0).actor.login, 1002U);
}

TEST(StateDocuments, OfTheGenvThatFirstLentDevicesAreRead) {
    const core::EnvironmentRecord environment = read("version-1-lent.json");
    EXPECT_EQ(environment.configuration.preemptible, core::Preemptible::End);
    EXPECT_TRUE(environment.loanFailed);
    const core::EnvironmentRecord earlier = read("version-1-parking.json");
    EXPECT_EQ(earlier.configuration.preemptible, core::Preemptible::No);
    EXPECT_FALSE(earlier.loanFailed);
    json document = json::parse(documentIn("version-1-lent.json"));
    document["configuration"]["preemptible"] = "perhaps";
    EXPECT_THROW(core::decodeState(document.dump()), core::StateError);
}

// Fails if the form changed and there is no document of the new form here.
TEST(StateDocuments, OfTheNewestFormAreWrittenAsTheyWere) {
    for (const char* file :
         {newest, "version-1-lingering.json", "version-1-parking.json",
          "version-1-pending-end.json", "version-1-lock-waits.json", "version-1-jobs.json",
          "version-1-children.json", "version-1-consent.json", "version-1-over-limit.json",
          "version-1-quota-hold.json", "version-1-sluid.json", "version-1-loans.json",
          "version-1-lent.json"})
        EXPECT_EQ(json::parse(core::encodeState(read(file))), json::parse(documentIn(file)))
            << file;
}

TEST(StateDocuments, AreKeptOfEveryVersionAndAllOfThemAreRead) {
    std::set<int> versions;
    for (const auto& entry : std::filesystem::directory_iterator(GENV_STATE_DOCUMENTS)) {
        const std::string file = entry.path().filename();
        EXPECT_NO_THROW(read(file)) << file;
        versions.insert(json::parse(documentIn(file))["version"].get<int>());
    }
    std::set<int> all;
    for (int version = 1; version <= core::stateVersion; ++version)
        all.insert(version);
    EXPECT_EQ(versions, all);
}

TEST(StateDocuments, WithKeysThatALaterGenvAddedAreReadWithoutThem) {
    json document = json::parse(documentIn(newest));
    document["a-later-key"] = {1, 2};
    document["attachments"][0]["another"] = nullptr;
    EXPECT_EQ(core::decodeState(document.dump()), read(newest));
}

TEST(StateDocuments, KeepWhichDevicesAWaitNames) {
    core::EnvironmentRecord environment = read(newest);
    ASSERT_FALSE(environment.waits.empty());
    for (const std::vector<core::DeviceUuid>& uuids :
         std::vector<std::vector<core::DeviceUuid>>{{"GPU-1"}, {"GPU-2", "GPU-1"}}) {
        environment.waits[0].request = {core::UuidsWanted{uuids}, {}, {}, false};
        EXPECT_EQ(core::decodeState(core::encodeState(environment)), environment);
    }
    json document = json::parse(core::encodeState(environment));
    document["waits"][0]["request"]["uuids"] = {7};
    EXPECT_THROW(core::decodeState(document.dump()), core::StateError);
}

TEST(StateDocuments, OfParkedEnvironmentsAreRead) {
    const core::EnvironmentRecord environment = read("version-1-parking.json");
    ASSERT_TRUE(environment.isAt(core::ParkingStep::Parked));
    const core::Parking& parking = *environment.parking;
    EXPECT_EQ(parking.actor, core::Actor(root, 1003));
    EXPECT_EQ(parking.reason, "admin");
    EXPECT_EQ(parking.began, atSecond(150));
    EXPECT_EQ(parking.bytes(), gigabytes(8));
    ASSERT_EQ(parking.processes.size(), 1U);
    EXPECT_EQ(parking.processes[0].identity, (core::ProcessIdentity{6010, 15000}));
    ASSERT_EQ(parking.devices.size(), 1U);
    EXPECT_EQ(parking.devices[0].share, gigabytes(8));
    EXPECT_EQ(parking.devices[0].lease->until, atSecond(3700));
    EXPECT_EQ(parking.lease->until, atSecond(7300));
    json document = json::parse(documentIn("version-1-parking.json"));
    document["parking"]["step"] = "away";
    EXPECT_THROW(core::decodeState(document.dump()), core::StateError);
}

TEST(StateDocuments, OfTheGenvThatFirstParkedForOthersAreRead) {
    const core::EnvironmentRecord environment = read("version-1-loans.json");
    EXPECT_EQ(environment.parking->reason, "taken");
    EXPECT_EQ(environment.parking->taker, (core::Taker{31, "6200", 1003, "carol"}));
    ASSERT_EQ(environment.waits.size(), 2U);
    EXPECT_TRUE(environment.waits[0].resumes);
    EXPECT_FALSE(environment.waits[0].taking || environment.waits[0].takesOnly);
    EXPECT_TRUE(environment.waits[1].takesOnly);
    ASSERT_TRUE(environment.waits[1].taking);
    EXPECT_EQ(environment.waits[1].taking->victims, std::vector<core::EnvironmentId>{"6300"});
    EXPECT_EQ(environment.waits[1].taking->estimate, std::chrono::seconds{6});
    EXPECT_EQ(environment.waits[1].taking->deadline, atSecond(270));
    EXPECT_FALSE(read("version-1-parking.json").parking->taker) << "nobody took before";
    for (const char* key : {"victims", "devices"}) {
        json document = json::parse(documentIn("version-1-loans.json"));
        document["waits"][1]["taking"][key] = {7};
        EXPECT_THROW(core::decodeState(document.dump()), core::StateError) << key;
    }
}

TEST(StateDocuments, OfALaterVersionAreRefusedWithWhatToDo) {
    json document = json::parse(documentIn(newest));
    document["version"] = core::stateVersion + 1;
    try {
        core::decodeState(document.dump());
        FAIL() << "it was read";
    } catch (const core::StateError& error) {
        EXPECT_EQ(std::string(error.what()),
                  "a newer genv wrote it (version 2; this one reads versions up to 1): install "
                  "that genv again, move the file back to environments/ and restart genvd");
    }
}

// -- the upgrade steps, with fictitious versions

void renameHolder(json& document) {
    document["user"] = document.at("holder");
    document.erase("holder");
}

void addUnits(json& document) {
    document["units"] = document.at("user").get<std::string>() + "s";
}

constexpr std::array<core::StateUpgrade, 2> steps{renameHolder, addUnits};

TEST(StateUpgrades, AreTakenOneAfterTheOtherFromTheVersionOfTheDocument) {
    json oldest{{"version", 1U}, {"holder", "alice"}};
    core::upgradeDocument(oldest, steps);
    EXPECT_EQ(oldest, (json{{"version", 3U}, {"user", "alice"}, {"units", "alices"}}));
    json older{{"version", 2U}, {"user", "bob"}};
    core::upgradeDocument(older, steps);
    EXPECT_EQ(older, (json{{"version", 3U}, {"user", "bob"}, {"units", "bobs"}}));
    const json newestForm{{"version", 3U}, {"user", "carol"}, {"units", "many"}};
    json untouched = newestForm;
    core::upgradeDocument(untouched, steps);
    EXPECT_EQ(untouched, newestForm);
}

TEST(StateUpgrades, RefuseWhatIsNotADocumentOfItsVersion) {
    for (json document :
         {json(7), json::array(), json::object(), json{{"version", 0U}}, json{{"version", -1}},
          json{{"version", "1"}}, json{{"version", 4U}}, json{{"version", 1U}},
          json{{"version", 1U}, {"holder", 7}}, json{{"version", 2U}, {"user", nullptr}}})
        EXPECT_THROW(core::upgradeDocument(document, steps), core::StateError) << document;
}

} // namespace
} // namespace genv::tests
