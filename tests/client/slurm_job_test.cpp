// SPDX-License-Identifier: LGPL-2.1-or-later
// The hooks' interpretation of a job's variables and of the service's file.
#include "client/genvctl/slurm/hook_job.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>

namespace genv::ctl {
namespace {

using Numbers = std::vector<std::uint32_t>;

SlurmVariables variablesOf(std::map<std::string, std::string> values) {
    return [values = std::move(values)](const char* name) {
        const auto found = values.find(name);
        return found != values.end() ? found->second.c_str() : nullptr;
    };
}

std::string jobErrorOf(std::map<std::string, std::string> values) {
    try {
        readSlurmJob(variablesOf(std::move(values)));
        return "none";
    } catch (const SlurmJobError& error) {
        return error.what();
    }
}

TEST(SlurmJobVariables, AreReadAsSlurmSetsThem) {
    const auto job = readSlurmJob(variablesOf(
        {{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_UID", "1001"}, {"SLURM_JOB_GPUS", "0,3"}}));
    ASSERT_TRUE(job);
    EXPECT_EQ(job->id, 12U);
    EXPECT_EQ(job->uid, 1001U);
    EXPECT_EQ(job->gpus, (Numbers{0, 3}));
    EXPECT_FALSE(job->end);
    EXPECT_EQ(slurmEnvironment(job->id), "slurm-12");
}

TEST(SlurmJobVariables, HaveAnEndSinceSlurm2302) {
    const auto endOf = [](const std::string& text) {
        return readSlurmJob(variablesOf({{"SLURM_JOB_ID", "12"},
                                         {"SLURM_JOB_UID", "1001"},
                                         {"SLURM_JOB_GPUS", "0"},
                                         {"SLURM_JOB_END_TIME", text}}))
            ->end;
    };
    EXPECT_EQ(endOf("1795574158"), 1'795'574'158U);
    for (const char* none : {"", "0", "Unknown", "4294967294", "-1"})
        EXPECT_FALSE(endOf(none)) << none;
}

TEST(SlurmJobVariables, DescribeNoJobWithoutGpus) {
    EXPECT_FALSE(readSlurmJob(variablesOf({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_UID", "1"}})));
    EXPECT_FALSE(readSlurmJob(variablesOf({{"SLURM_JOB_GPUS", ""}})));
}

TEST(SlurmJobVariables, HaveANumberThatNeedsNothingElse) {
    EXPECT_EQ(readSlurmJobId(variablesOf({{"SLURM_JOB_ID", "12"}})), 12U);
    EXPECT_EQ(
        readSlurmJobId(variablesOf(
            {{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_UID", "nobody"}, {"SLURM_JOB_GPUS", "0,x"}})),
        12U);
    for (const char* id : {"", "0", "x", "-1", "12 ", "4294967296", "12_1"})
        EXPECT_THROW(readSlurmJobId(variablesOf({{"SLURM_JOB_ID", id}})), SlurmJobError) << id;
    EXPECT_THROW(readSlurmJobId(variablesOf({})), SlurmJobError);
}

TEST(SlurmJobVariables, AreNotGuessed) {
    EXPECT_EQ(jobErrorOf({{"SLURM_JOB_GPUS", "0"}}), "SLURM_JOB_ID is not set: slurmd runs this "
                                                     "command");
    for (const char* id : {"", "0", "x", "-1", "12 ", "4294967296", "12_1"})
        EXPECT_EQ(
            jobErrorOf({{"SLURM_JOB_GPUS", "0"}, {"SLURM_JOB_UID", "1"}, {"SLURM_JOB_ID", id}}),
            std::string("invalid SLURM_JOB_ID \"") + id + "\": expected 1-4294967295");
    EXPECT_EQ(
        jobErrorOf({{"SLURM_JOB_GPUS", "0"}, {"SLURM_JOB_ID", "1"}, {"SLURM_JOB_UID", "bob"}}),
        "invalid SLURM_JOB_UID \"bob\": expected 0-4294967295");
}

TEST(SlurmGpuNumbers, AreListsAndRanges) {
    EXPECT_EQ(parseGpuNumbers("7"), Numbers{7});
    EXPECT_EQ(parseGpuNumbers("0,2-4,1"), (Numbers{0, 2, 3, 4, 1}));
    for (const char* text : {"", ",", "0,", "a", "3-1", "-1", "0-99999", "0--1"})
        EXPECT_THROW(parseGpuNumbers(text), SlurmJobError) << text;
}

TEST(SlurmDeviceFile, GivesEachNumberItsDevice) {
    const tests::TemporaryFolder folder;
    folder.write("devices", "0 GPU-c\n1 GPU-a\n");
    const auto devices = readSlurmDevices(folder.path() / "devices");
    EXPECT_EQ(uuidsOf({12, 1001, {1, 0}, {}, {}}, devices),
              (std::vector<std::string>{"GPU-a", "GPU-c"}));
    EXPECT_THROW(uuidsOf({12, 1001, {0, 2}, {}, {}}, devices), SlurmJobError);
}

TEST(SlurmDeviceFile, IsRefusedWhereItIsMissingOrSpoilt) {
    const tests::TemporaryFolder folder;
    EXPECT_THROW(readSlurmDevices(folder.path() / "devices"), SlurmJobError);
    for (const char* text : {"GPU-c\n", "0\n", "0 \n", "x GPU-c\n", "\n"}) {
        folder.write("devices", text);
        EXPECT_THROW(readSlurmDevices(folder.path() / "devices"), SlurmJobError) << text;
    }
}

} // namespace
} // namespace genv::ctl
