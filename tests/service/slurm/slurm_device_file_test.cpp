// SPDX-License-Identifier: LGPL-2.1-or-later
// The derived file: it depends only on the reports of Slurm and the driver.
#include "service/slurm/slurm_device_file.hpp"
#include "tests/core/fake_slurm.hpp"
#include "tests/core/fakes.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <optional>

namespace genv::service {
namespace {

using namespace std::chrono_literals;

class SlurmDeviceFileTest : public testing::Test {
  protected:
    SlurmDeviceFileTest() { begin(); }

    void begin() { devices.emplace(folder.path(), slurm, scheduler, log); }
    [[nodiscard]] std::filesystem::path file() const { return folder.path() / "slurm" / "devices"; }
    [[nodiscard]] std::string text() const {
        std::ifstream stream(file());
        return stream.is_open() ? std::string(std::istreambuf_iterator<char>(stream), {}) : "none";
    }
    static std::vector<core::DeviceSample> gpus(std::uint32_t count) {
        std::vector<core::DeviceSample> samples(count);
        for (std::uint32_t i = 0; i < count; ++i) {
            samples[i].facts.uuid = "GPU-" + std::to_string(i);
            samples[i].nodes = {{195, i}};
        }
        return samples;
    }

    const std::vector<core::SlurmDevice> twoAndThree{{0, {195, 2}}, {1, {195, 3}}};
    tests::TemporaryFolder folder;
    tests::FakeSlurm slurm;
    tests::FakeScheduler scheduler;
    tests::SilentLog log;
    std::optional<SlurmDeviceFile> devices;
};

TEST_F(SlurmDeviceFileTest, AreWrittenOnceBothHaveAnswered) {
    devices->configured(true);
    devices->observed(gpus(4));
    EXPECT_EQ(text(), "none");
    slurm.list(twoAndThree);
    EXPECT_EQ(text(), "0 GPU-2\n1 GPU-3\n");
    struct stat status {};
    ASSERT_EQ(::stat(file().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0644U);
    EXPECT_EQ(devices->rows().size(), 2U);
    EXPECT_EQ(log.lines, std::vector<std::string>{});
}

TEST_F(SlurmDeviceFileTest, AreNotAskedForWhereSlurmHasNone) {
    devices->configured(false);
    devices->observed(gpus(4));
    devices->retryWrites();
    EXPECT_TRUE(slurm.questions.empty());
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "slurm"));
}

TEST_F(SlurmDeviceFileTest, GoWithTheConfiguration) {
    devices->configured(true);
    devices->observed(gpus(4));
    slurm.list(twoAndThree);
    devices->configured(false);
    EXPECT_EQ(text(), "none");
    EXPECT_TRUE(devices->rows().empty());
}

TEST_F(SlurmDeviceFileTest, AreForgottenWithTheConfiguration) {
    devices->configured(true);
    devices->observed(gpus(4));
    slurm.list(twoAndThree);
    devices->configured(false);
    devices->configured(true);
    devices->observed(gpus(4));
    EXPECT_EQ(text(), "none") << "before Slurm answers";
    slurm.list(twoAndThree);
    EXPECT_EQ(text(), "0 GPU-2\n1 GPU-3\n");
}

TEST_F(SlurmDeviceFileTest, FollowAnotherConfiguration) {
    devices->configured(true);
    devices->observed(gpus(4));
    slurm.list(twoAndThree);
    devices->configured(true);
    EXPECT_EQ(text(), "0 GPU-2\n1 GPU-3\n"); // until Slurm answers
    slurm.list(std::vector<core::SlurmDevice>{{0, {195, 1}}});
    EXPECT_EQ(text(), "0 GPU-1\n");
}

TEST_F(SlurmDeviceFileTest, IgnoreTheAnswerToAnEarlierQuestion) {
    devices->configured(true);
    devices->configured(true);
    devices->observed(gpus(4));
    slurm.list(std::vector<core::SlurmDevice>{{0, {195, 1}}});
    EXPECT_EQ(text(), "none");
    slurm.list(twoAndThree);
    EXPECT_EQ(text(), "0 GPU-2\n1 GPU-3\n");
}

TEST_F(SlurmDeviceFileTest, FollowTheDriver) {
    devices->configured(true);
    slurm.list(twoAndThree);
    devices->observed(gpus(3));
    EXPECT_EQ(text(), "0 GPU-2\n");
    EXPECT_EQ(log.lines,
              std::vector<std::string>{"cannot find the GPU with the device node 195:3, Slurm's "
                                       "GPU 1: jobs with this GPU get no environment"});
    devices->observed(gpus(3)); // logged once
    EXPECT_EQ(log.lines.size(), 1U);
    devices->observed(gpus(4));
    EXPECT_EQ(text(), "0 GPU-2\n1 GPU-3\n");
}

TEST_F(SlurmDeviceFileTest, AreAskedForAgainWhenSlurmDoesNotAnswer) {
    devices->observed(gpus(4));
    devices->configured(true);
    devices->observed(gpus(4));
    slurm.list(core::SlurmFailure{"slurmd did not answer in 10 s"});
    EXPECT_EQ(text(), "none");
    scheduler.pass(900ms);
    EXPECT_TRUE(slurm.questions.empty());
    scheduler.pass(100ms);
    slurm.list(core::SlurmFailure{"slurmd did not answer in 10 s"});
    scheduler.pass(1900ms);
    EXPECT_TRUE(slurm.questions.empty());
    scheduler.pass(100ms);
    slurm.list(twoAndThree);
    EXPECT_EQ(text(), "0 GPU-2\n1 GPU-3\n");
    EXPECT_EQ(log.lines, (std::vector<std::string>{"Slurm does not list its GPUs of this node: "
                                                   "slurmd did not answer in 10 s",
                                                   "Slurm has listed its GPUs of this node"}));
}

TEST_F(SlurmDeviceFileTest, AreAskedForAfreshWithAnotherConfiguration) {
    const core::SlurmFailure failure{"slurmd is gone"};
    devices->configured(true);
    slurm.list(failure);
    scheduler.pass(1s);
    slurm.list(failure); // the next retry would come after 2 s
    devices->configured(false);
    scheduler.pass(2s);
    EXPECT_TRUE(slurm.questions.empty()) << "Slurm has no devices any more";
    devices->configured(true);
    slurm.list(failure);
    scheduler.pass(1s);
    EXPECT_EQ(slurm.questions.size(), 1U);
    EXPECT_EQ(log.lines.size(), 2U) << "the trouble is logged again";
}

TEST_F(SlurmDeviceFileTest, AreWrittenAgainWhenTheirFolderWasRemoved) {
    devices->configured(true);
    devices->observed(gpus(4));
    slurm.list(twoAndThree);
    std::filesystem::remove_all(folder.path() / "slurm");
    devices->observed(gpus(4)); // changes nothing in the file
    EXPECT_EQ(text(), "none");
    devices->retryWrites();
    EXPECT_EQ(text(), "0 GPU-2\n1 GPU-3\n");
}

TEST_F(SlurmDeviceFileTest, StayWhenSlurmDoesNotAnswerAnyMore) {
    devices->configured(true);
    devices->observed(gpus(4));
    slurm.list(twoAndThree);
    devices->configured(true);
    slurm.list(core::SlurmFailure{"slurmd is gone"});
    devices->observed(gpus(4));
    EXPECT_EQ(text(), "0 GPU-2\n1 GPU-3\n");
}

TEST_F(SlurmDeviceFileTest, StayOverARestart) {
    devices->configured(true);
    devices->observed(gpus(4));
    slurm.list(twoAndThree);
    begin();
    devices->configured(true);
    devices->observed(gpus(4));
    EXPECT_EQ(text(), "0 GPU-2\n1 GPU-3\n"); // also before Slurm answers
    begin();
    devices->configured(false);
    EXPECT_EQ(text(), "none");
}

TEST_F(SlurmDeviceFileTest, AreNoneWhereGresConfNamesNone) {
    devices->configured(true);
    devices->observed(gpus(4));
    slurm.list(std::vector<core::SlurmDevice>{});
    EXPECT_EQ(text(), "");
    ASSERT_EQ(log.lines.size(), 1U);
    EXPECT_NE(log.lines[0].find("gres.conf names no device file"), std::string::npos);
}

TEST_F(SlurmDeviceFileTest, MayGoBeforeSlurmAnswers) {
    devices->configured(true);
    devices.reset();
    slurm.list(twoAndThree);
    EXPECT_EQ(text(), "none");
}

} // namespace
} // namespace genv::service
