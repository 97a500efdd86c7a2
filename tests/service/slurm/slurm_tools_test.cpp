// SPDX-License-Identifier: LGPL-2.1-or-later
// The commands for the requests, and the interpretation of their answers. The answers are those of
// Slurm 22.05.
#include "service/slurm/slurm_tools.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace genv::service {
namespace {

using ToolWords = std::vector<std::string>;

constexpr core::WallTime newEnd{std::chrono::seconds{1'795'574'158}};
const SlurmFolders usual{"/usr/bin"};

std::string reasonOf(const SlurmRequest& request, const SlurmProgramResult& result) {
    const SlurmAnswer answer = judgeSlurmResult(request, result, lookUpNode);
    if (std::holds_alternative<SlurmDone>(answer))
        return "done";
    if (const auto* failure = std::get_if<core::SlurmFailure>(&answer))
        return failure->reason;
    return "devices";
}

TEST(SlurmTools, RunFixedWordsWithTheNumbersOfTheRequest) {
    EXPECT_EQ(slurmCommand(SlurmListDevices{}, usual).arguments, ToolWords{"-G"});
    EXPECT_EQ(slurmCommand(SlurmSetEnd{12, newEnd}, usual).arguments,
              (ToolWords{"update", "JobId=12", "EndTime=uts1795574158"}));
    EXPECT_EQ(slurmCommand(SlurmSetEnd{12, newEnd}, usual).program, "/usr/bin/scontrol");
    EXPECT_EQ(slurmCommand(SlurmCancel{12}, usual).program, "/usr/bin/scancel");
    EXPECT_EQ(slurmCommand(SlurmCancel{12}, usual).arguments, ToolWords{"12"});
    EXPECT_EQ(slurmCommand(SlurmRequeue{12}, usual).arguments,
              (ToolWords{"requeue", "Incomplete", "12"}));
}

// Recorded from scontrol 22.05 with SLURM_TIME_FORMAT=%s, and shortened.
TEST(SlurmTools, SetNoEndThatIsNotLater) {
    const auto objection = [](const std::string& end) {
        const auto found = objectionTo(
            SlurmSetEnd{12, newEnd},
            {0, "JobId=12 JobName=wrap UserId=alice(1001) JobState=RUNNING StartTime=1795570000" +
                    end + " Deadline=N/A\n"});
        return found ? found->reason : "none";
    };
    EXPECT_EQ(objection(" EndTime=1795574157"), "none");
    EXPECT_TRUE(objection(" EndTime=1795574158").starts_with("its end is already later ("));
    EXPECT_EQ(objection(" EndTime=Unknown"), "Slurm does not know when it ends");
    for (const std::string end : {"", " EndTime=", " EndTime=2026-11-25T03:15:12", " EndTime=-"})
        EXPECT_EQ(objection(end), "scontrol did not print its end") << end;
    EXPECT_EQ(objectionTo(SlurmSetEnd{999, newEnd},
                          {1, "slurm_load_jobs error: Invalid job id specified\n"})
                  ->reason,
              "scontrol said: slurm_load_jobs error: Invalid job id specified");
    EXPECT_EQ(slurmEndQuestion(12, usual).arguments, (ToolWords{"show", "job", "-o", "12"}));
}

// Recorded from squeue 26.05 and, for the second SLUID, 24.11.
TEST(SlurmTools, FindTheNumberOfAJobByItsSluid) {
    const SlurmFindJob request{*core::parseSluid("s231M8CWBDTF00")};
    EXPECT_EQ(slurmCommand(request, usual).program, "/usr/bin/squeue");
    EXPECT_EQ(slurmCommand(request, usual).arguments,
              (ToolWords{"--noheader", "--all", "--jobs=s231M8CWBDTF00",
                         "--Format=JobID:.12,SLUID:.16"}));
    const SlurmAnswer found =
        judgeSlurmResult(request, {0, "           4  s231M8CWBDTF00\n"}, lookUpNode);
    EXPECT_EQ(std::get<SlurmFound>(found).job, 4U);
    for (const char* output : {"", "\n", "           4\n", "           4  s231M8CWBFB800\n",
                               "4_1 s231M8CWBDTF00\n", "0 s231M8CWBDTF00\n", "4 s231m8cwbdtf00\n",
                               "4 s231M8CWBDTF00 5\n", "Warning: 4 s231M8CWBDTF00\n"})
        EXPECT_EQ(reasonOf(request, {0, output}).rfind("squeue said: ", 0), 0U) << output;
    EXPECT_EQ(reasonOf(request, {1, "slurm_load_jobs error: Invalid job id specified\n"}),
              "squeue said: slurm_load_jobs error: Invalid job id specified");
    EXPECT_EQ(reasonOf(request, {1, "squeue: error: Invalid job id: s231M8CWBDTF00\n"}),
              "squeue said: squeue: error: Invalid job id: s231M8CWBDTF00");
    EXPECT_EQ(reasonOf(request, {1, ""}), "squeue exited with status 1");
}

TEST(SlurmTools, FindSlurmdBesideTheOtherPrograms) {
    const tests::TemporaryFolder folder;
    const SlurmFolders own{folder.path() / "bin"};
    EXPECT_EQ(own.slurmd(), folder.path() / "bin" / "slurmd");
    folder.write("sbin/slurmd", "");
    EXPECT_EQ(own.slurmd(), folder.path() / "sbin" / "slurmd");
    EXPECT_EQ(SlurmFolders{folder.path() / "bin/"}.slurmd(), folder.path() / "sbin" / "slurmd");
}

TEST(SlurmTools, TakeSilenceAloneForDone) {
    EXPECT_EQ(reasonOf(SlurmCancel{12}, {0, ""}), "done");
    EXPECT_EQ(reasonOf(SlurmRequeue{12}, {0, ""}), "done");
    // With exit status 0.
    EXPECT_EQ(
        reasonOf(SlurmSetEnd{12, newEnd}, {0, "Invalid time specification (pos=0): uts1000\n"}),
        "scontrol said: Invalid time specification (pos=0): uts1000");
}

TEST(SlurmTools, PassOnWhatSlurmSays) {
    EXPECT_EQ(reasonOf(SlurmSetEnd{999, newEnd}, {1, "Invalid job id specified for job 999\n"}),
              "scontrol said: Invalid job id specified for job 999");
    EXPECT_EQ(
        reasonOf(SlurmRequeue{2}, {1, "Requested operation is presently disabled for job 2\n"}),
        "scontrol said: Requested operation is presently disabled for job 2");
    EXPECT_EQ(reasonOf(SlurmCancel{4}, {8, "scancel: error: Kill job error on job id 4: Unable to "
                                           "contact slurm controller (connect failure)\n"}),
              "scancel said: scancel: error: Kill job error on job id 4: Unable to contact slurm "
              "controller (connect failure)");
    EXPECT_EQ(reasonOf(SlurmCancel{4}, {7, ""}), "scancel exited with status 7");
}

TEST(SlurmTools, MakeAReasonThatTheProtocolTakes) {
    for (const std::string& output :
         {std::string(5000, 'x'), std::string(5000, '\x1b'), std::string("\xff\xfe")}) {
        const SlurmAnswer answer = judgeSlurmResult(SlurmCancel{1}, {1, output}, lookUpNode);
        EXPECT_NO_THROW(decodeSlurmAnswer(encodeSlurmAnswer(answer)));
    }
}

TEST(SlurmTools, NumberTheDevicesByTheNodesOfTheirFiles) {
    const auto lookUp =
        [](const std::string& file) -> std::variant<core::DeviceNode, core::SlurmFailure> {
        return core::DeviceNode{195, static_cast<std::uint32_t>(file.back() - '0')};
    };
    const SlurmAnswer answer = judgeSlurmResult(
        SlurmListDevices{},
        {0, "slurmd-n1: Gres Name=gpu Type=rtx Count=2 Index=0 ID=7696487 File=/dev/nvidia[2-3] "
            "(null)\n"},
        lookUp);
    const auto& devices = std::get<std::vector<core::SlurmDevice>>(answer);
    ASSERT_EQ(devices.size(), 2U);
    EXPECT_EQ(devices[0].number, 0U);
    EXPECT_EQ(devices[0].node, (core::DeviceNode{195, 2}));
    EXPECT_EQ(devices[1].node, (core::DeviceNode{195, 3}));
}

TEST(SlurmTools, SayWhyDevicesAreNotListed) {
    EXPECT_EQ(
        reasonOf(SlurmListDevices{}, {1, "slurmd: error: fetch_config: DNS SRV lookup failed\n"
                                         "slurmd: error: slurmd initialization failed\n"}),
        "slurmd -G failed: slurmd: error: fetch_config: DNS SRV lookup failed");
    EXPECT_EQ(reasonOf(SlurmListDevices{}, {1, "slurmd: error: slurmd initialization failed\n"}),
              "slurmd -G failed: slurmd: error: slurmd initialization failed");
    // Its log cannot be written in any case.
    const std::string noLog = "(null): _log_init: Unable to open logfile "
                              "`/var/log/slurm/slurmd.log': Read-only file system\n";
    EXPECT_EQ(reasonOf(SlurmListDevices{}, {1, noLog}),
              "slurmd -G exited with status 1 without a reason; it may need a running slurmd");
    EXPECT_EQ(
        reasonOf(SlurmListDevices{}, {1, noLog + "slurmd: error: slurmd initialization failed\n"}),
        "slurmd -G failed: slurmd: error: slurmd initialization failed");
    EXPECT_EQ(reasonOf(SlurmListDevices{}, {1, "slurmd: error: no munge\n" + noLog}),
              "slurmd -G failed: slurmd: error: no munge");
    EXPECT_EQ(reasonOf(SlurmListDevices{}, {0, "Gres Name=gpu Count=1 File=/nowhere/nvidia0\n"}),
              "cannot look up the device file /nowhere/nvidia0 of gres.conf: No such file or "
              "directory");
    EXPECT_EQ(reasonOf(SlurmListDevices{}, {0, "Gres Name=gpu Count=1 File=/etc/passwd\n"}),
              "/etc/passwd in gres.conf is not a device file");
    EXPECT_EQ(
        reasonOf(SlurmListDevices{}, {0, "Gres Name=gpu Count=? File=/x\n"}),
        "slurmd -G printed \"Gres Name=gpu Count=? File=/x\", which genv does not understand");
}

TEST(SlurmTools, LookUpNodes) {
    const auto node = lookUpNode("/dev/null");
    EXPECT_EQ(std::get<core::DeviceNode>(node), (core::DeviceNode{1, 3}));
}

// With a real process: a shell script replaces the request's program.
TEST(SlurmTools, CarryOutARequest) {
    const tests::TemporaryFolder folder;
    folder.write("bin/scontrol", "#!/bin/sh\necho \"$# $* $LC_ALL $SLURM_CONF\"\n");
    ::chmod((folder.path() / "bin/scontrol").c_str(), 0700);
    const SlurmAnswer answer =
        carryOutSlurmRequest(SlurmRequeue{12}, {folder.path() / "bin"}, {"LC_ALL=C"}, {});
    EXPECT_EQ(std::get<core::SlurmFailure>(answer).reason,
              "scontrol said: 3 requeue Incomplete 12 C ");
    const SlurmAnswer missing =
        carryOutSlurmRequest(SlurmCancel{12}, {folder.path() / "bin"}, {"LC_ALL=C"}, {});
    EXPECT_EQ(std::get<core::SlurmFailure>(missing).reason,
              (folder.path() / "bin/scancel").string() +
                  " cannot be started: No such file or directory");
}

} // namespace
} // namespace genv::service
