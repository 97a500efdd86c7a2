// SPDX-License-Identifier: LGPL-2.1-or-later
// The jobs of a user on a cluster: the command line and the script of sbatch, and what squeue and
// sacct of Slurm 22.05 and 24.11 say about jobs.
#include "client/genvctl/cluster/jobs/accounting.hpp"
#include "client/genvctl/cluster/jobs/batch_script.hpp"
#include "client/genvctl/cluster/jobs/job_changes.hpp"
#include "client/genvctl/cluster/jobs/job_rows.hpp"
#include "client/genvctl/cluster/jobs/job_states.hpp"
#include "client/genvctl/cluster/jobs/output_path.hpp"
#include "client/genvctl/cluster/jobs/sbatch.hpp"
#include "client/genvctl/cluster/jobs/sbatch_submission.hpp"
#include "client/genvctl/cluster/jobs/task_list.hpp"
#include "client/genvctl/cluster/shapes.hpp"
#include "client/genvctl/common/exit_status.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <functional>
#include <sstream>

namespace genv::ctl::cluster {
namespace {

using Words = std::vector<std::string>;
using Change = JobSystem::Change;

std::string recorded(const std::string& name) {
    std::ifstream file(std::string(CLUSTER_FIXTURES) + "/slurm-" + name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

Partition defaultPartition() {
    return chosenPartition(readPartitions(recorded("24.11.partitions")), std::nullopt);
}

Work command(Words words, const std::function<void(Work&)>& change = {}) {
    Work work;
    work.job.command = std::move(words);
    work.job.request.gpus = 1;
    if (change)
        change(work);
    return work;
}

Words sbatchOptions(const Work& work) {
    Words words = sbatchWords(work, defaultPartition(), {});
    EXPECT_EQ(Words(words.begin(), words.begin() + 2), (Words{"sbatch", "--parsable"}));
    words.erase(words.begin(), words.begin() + 2);
    return words;
}

std::string refusal(const std::function<void()>& call, ExitStatus status = ExitStatus::Usage) {
    try {
        call();
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.status(), status) << failure.what();
        return failure.what();
    }
    return "not refused";
}

void setTasks(Work& work, const std::vector<jobs::TaskValue>& tasks) {
    work.job.isArray = true;
    work.job.tasks = tasks;
}

TEST(ClusterJobs, BecomeTheWordsOfSbatch) {
    EXPECT_EQ(sbatchOptions(command({"python", "train.py"})),
              (Words{"-N1", "-n1", "--gpus=1", "--job-name=python train.py"}));
    std::tm time{};
    time.tm_year = 130;
    time.tm_mday = 2;
    time.tm_hour = 22;
    time.tm_isdst = -1;
    const auto begin = std::chrono::time_point_cast<std::chrono::microseconds>(
        std::chrono::system_clock::from_time_t(std::mktime(&time)));
    const Work all = command({"x"}, [&](Work& work) {
        work.job.request.model = "a100";
        work.job.request.lifetimeSeconds = 7200;
        work.job.name = "-n 'x'";
        setTasks(work, {{1, "1"}, {2, "2"}, {3, "3"}, {10, "10"}});
        work.job.plan.parallel = 8;
        work.job.plan.after = {
            {17, jobs::Condition::Ok}, {18, jobs::Condition::Fail}, {19, jobs::Condition::Any}};
        work.job.plan.begin = begin;
        work.job.hold = true;
        work.job.output = "/tmp/50%{}.out";
        work.job.cpus = 4;
        work.job.memoryBytes = 1025;
    });
    EXPECT_EQ(sbatchOptions(all),
              (Words{"-N1", "-n1", "--gpus=a100:1", "--time=02:00:00", "--job-name=-n 'x'",
                     "--array=1-3,10%8", "--dependency=afterok:17,afternotok:18,afterany:19",
                     "--kill-on-invalid-dep=yes", "--begin=2030-01-02T22:00:00", "--hold",
                     "--output=/tmp/50%%%a.out", "--cpus-per-task=4", "--mem=2K"}));
    EXPECT_EQ(sbatchOptions(command({"x"}, [](Work& work) { work.job.request.gpus = 0; })),
              (Words{"-N1", "-n1", "--job-name=x"}));
}

TEST(ClusterJobs, WhatSlurmCannotNameIsRefused) {
    const auto withOutput = [](const char* output, const char* value) {
        return refusal([&] {
            sbatchOptions(command({"x"}, [&](Work& work) {
                setTasks(work, {{1, value}});
                work.job.output = output;
            }));
        });
    };
    EXPECT_NE(withOutput("/tmp/{}", "adam").find("knows no words"), std::string::npos);
    EXPECT_NE(withOutput("/tmp/\\{}", "1").find("backslash"), std::string::npos);
    EXPECT_NE(
        refusal(
            [] { sbatchOptions(command({"x"}, [](Work& work) { work.job.request.gpus = 100; })); },
            ExitStatus::NoDevice)
            .find("no node"),
        std::string::npos);
}

TEST(ClusterJobs, AScriptWithLinesForSbatchKeepsWhatTheseAskFor) {
    Work work = command({});
    work.script = Script{"s", "#!/bin/bash\n\n#SBATCH -p old -N 2\n# x\n#SBATCH --gres=gpu:2\n"
                              "true\n#SBATCH -p late\n"};
    EXPECT_EQ(sbatchLines(work.script->text),
              (Words{"#SBATCH -p old -N 2", "#SBATCH --gres=gpu:2"}));
    EXPECT_EQ(partitionOfScript(work), "old");
    EXPECT_EQ(gpusOf(work), 0U);
    EXPECT_EQ(sbatchOptions(work), Words{});
    work.namesGpus = true;
    EXPECT_EQ(sbatchOptions(work), Words{"--gpus=1"});
    work.script->text = "#SBATCH --partition=a\n#SBATCH -pb\n";
    EXPECT_EQ(partitionOfScript(work), "b");
    EXPECT_EQ(partitionOfScript(command({"x"})), std::nullopt);
    EXPECT_TRUE(batchScript(work).starts_with("#!/bin/sh\n#SBATCH --partition=a\n#SBATCH -pb\n# "));
}

TEST(ClusterJobs, ABatchScriptQuotesWhatTheUserTyped) {
    const Work single = command({"echo", "a'b", "$(x)", "{}", "\n"});
    const std::string text = batchScript(single);
    EXPECT_TRUE(text.ends_with("\nexec echo 'a'\\''b' '$(x)' '{}' '\n'\n")) << text;
    EXPECT_EQ(readBatchScript(text)->words, single.job.command);
    const Work array = command({"x;{}y{}", "{}"}, [](Work& work) {
        setTasks(work, {{1, "1"}, {2, "$(x)\xff"}});
    });
    const std::string ofArray = batchScript(array);
    EXPECT_TRUE(ofArray.ends_with("GENV_ARRAY_TASK=$SLURM_ARRAY_TASK_ID\n"
                                  "case $SLURM_ARRAY_TASK_ID in\n"
                                  "1) GENV_ARRAY_TASK=1 ;;\n"
                                  "2) GENV_ARRAY_TASK='$(x)\xff' ;;\n"
                                  "esac\n"
                                  "export GENV_ARRAY_TASK\n"
                                  "exec 'x;'\"$GENV_ARRAY_TASK\"y\"$GENV_ARRAY_TASK\" "
                                  "\"$GENV_ARRAY_TASK\"\n"))
        << ofArray;
    const auto read = readBatchScript(ofArray);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->tasks, (std::vector<std::uint32_t>{1, 2}));
    EXPECT_EQ(read->values, (std::map<std::uint32_t, std::string>{{2, "$(x)\xef\xbf\xbd"}}));
}

TEST(ClusterJobs, ABatchScriptEndsTheUsersScriptWhereThatEnds) {
    Work work = command({});
    work.script = Script{"night.sh", "#!/usr/bin/env -S python3 -u\nGENV_END_OF_SCRIPT\nrm x"};
    work.arguments = {"a b"};
    const std::string text = batchScript(work);
    EXPECT_TRUE(text.ends_with("exec /usr/bin/env '-S python3 -u' /dev/fd/9 'a b' "
                               "9<<'GENV_END_OF_SCRIPT_'\n"
                               "#!/usr/bin/env -S python3 -u\nGENV_END_OF_SCRIPT\nrm x\n"
                               "GENV_END_OF_SCRIPT_\n"))
        << text;
    EXPECT_EQ(readBatchScript(text)->words, (Words{"night.sh", "a b"}));
    for (const char* foreign :
         {"", "#!/bin/sh\ntrue\n", "# genvctl submit: {", "# genvctl submit: 7",
          "# genvctl submit: {\"words\": [1], \"values\": {}}"})
        EXPECT_FALSE(readBatchScript(foreign)) << foreign;
}

TEST(ClusterJobs, TheNumberThatSbatchPrintsIsReadStrictly) {
    EXPECT_EQ(readSubmitted("17\n"), 17U);
    EXPECT_EQ(readSubmitted("18;lab\n"), 18U);
    for (const char* text : {"", "0\n", "Submitted batch job 17\n", "-1", "99999999999"})
        EXPECT_NE(refusal([&] { readSubmitted(text); }, ExitStatus::Failed), "not refused") << text;
}

TEST(ClusterTaskLists, AreReadAndWritten) {
    const auto numbers = [](const char* text) { return parseTaskList(text)->numbers; };
    EXPECT_EQ(numbers("3"), std::vector<std::uint32_t>{3});
    EXPECT_EQ(numbers("1-3,5,10-30:10"), (std::vector<std::uint32_t>{1, 2, 3, 5, 10, 20, 30}));
    EXPECT_EQ(parseTaskList("[4-6,8%2]")->parallel, 2U);
    for (const char* wrong : {"", "1-", "3-1", "1,", "1-3:0", "1,3,...", "[", "[]", "0x1FE", "1%x",
                              "1:2", "0-4294967295"})
        EXPECT_FALSE(parseTaskList(wrong)) << wrong;
    EXPECT_EQ(taskListText({1, 2, 3, 5, 10, 20, 30}), "1-3,5,10-30:10");
    EXPECT_EQ(taskListText({1, 2, 7}), "1,2,7");
    EXPECT_EQ(taskListText({}), "");
    for (const auto& list : std::vector<std::vector<std::uint32_t>>{
             {0}, {0, 1}, {0, 2, 4}, {1, 2, 4, 6, 8, 9, 10}, {4294967295}})
        EXPECT_EQ(parseTaskList(taskListText(list))->numbers, list);
}

TEST(ClusterOutputs, AreNamedAsSlurmNamesThem) {
    OutputNames names{.id = 21,
                      .job = 17,
                      .task = 3,
                      .user = "alice",
                      .name = "x/y",
                      .node = "n1",
                      .folder = "/home/alice"};
    EXPECT_EQ(outputPathOf("", names), "/home/alice/slurm-17_3.out");
    EXPECT_EQ(outputPathOf("/l/%A-%4a-%j-%u-%x-%N-%%-%q", names),
              "/l/17-0003-21-alice-x/y-n1-%-%q");
    names.task.reset();
    EXPECT_EQ(outputPathOf("", names), "/home/alice/slurm-21.out");
    EXPECT_EQ(outputPathOf("o%", names), "/home/alice/o%");
    EXPECT_EQ(outputPathOf(outputPattern("/tmp/%j{}%", false), names), "/tmp/%j{}%");
}

struct JobCase {
    jobs::JobNumber number;
    const char* state;
    const char* reason;
};

class ClusterRecords : public ::testing::TestWithParam<const char*> {
  protected:
    SlurmJobs read() {
        return readSlurmJobs(recorded(std::string(GetParam()) + ".jobs.squeue.json"));
    }
    const SlurmJobRecord& named(const SlurmJobs& jobs, const std::string& name) {
        static const SlurmJobRecord none;
        const auto found = std::find_if(
            jobs.begin(), jobs.end(), [&](const auto& entry) { return entry.second.name == name; });
        EXPECT_NE(found, jobs.end()) << name;
        return found == jobs.end() ? none : found->second;
    }
};

TEST_P(ClusterRecords, TellHowJobsAre) {
    const SlurmJobs jobs = read();
    const auto row = [&](const char* name) { return jobRow(named(jobs, name)); };
    const auto expect = [&](const char* name, const char* state, const std::string& reason) {
        EXPECT_EQ(row(name).state, state) << name;
        EXPECT_EQ(row(name).reason, reason) << name;
    };
    expect("done", "done", "");
    expect("failed", "failed", "exit status 3");
    expect("killed", "failed", "ended by SIGKILL");
    expect("never", "canceled", "the end of another job let it never start");
    expect("on-hold", "held", "held");
    expect("canceled", "canceled", "");
    expect("waits", "waiting",
           "waits for jobs " + std::to_string(named(jobs, "waits").after.at(0).job) + ", " +
               std::to_string(named(jobs, "waits").after.at(0).job));
    EXPECT_EQ(row("at-two").reason.substr(0, 7), "begins ");
    EXPECT_EQ(row("failed").status, 3);
    EXPECT_EQ(row("killed").status, 137);
    EXPECT_EQ(row("done").status, 0);
    EXPECT_EQ(row("done").gpus, 1U);
    EXPECT_NE(row("done").ended, 0U);
    EXPECT_EQ(row("never").started, 0U);
    EXPECT_EQ(row("on-hold").status, -1);
    const SlurmJobRecord& done = named(jobs, "done");
    EXPECT_EQ(taskRow(done, 0, {}, 0).log, "/tmp/done-" + std::to_string(done.number) + ".%");
}

TEST_P(ClusterRecords, TellWhatARunningJobHas) {
    const SlurmJobs jobs = read();
    const SlurmJobRecord& job = named(jobs, "evil\n9|\x1b[31m \"name\"");
    EXPECT_EQ(job.uid, 1001U);
    EXPECT_EQ(job.gpus, 2U);
    EXPECT_EQ(job.cpus, GetParam() == std::string("22.05") ? 0U : 2U); // 22.05 does not tell
    EXPECT_EQ(job.memoryBytes, std::uint64_t{100} << 20);
    EXPECT_EQ(job.lifetimeSeconds, 3600U);
    EXPECT_EQ(job.folder, "/tmp");
    ASSERT_EQ(job.tasks.size(), 1U);
    const jobs::TaskRow task = taskRow(job, 0, {}, job.tasks.at(0).started + 10'000'000);
    EXPECT_EQ(task.state, "running");
    EXPECT_EQ(task.environment, "slurm-" + std::to_string(job.number));
    EXPECT_EQ(task.devices.size(), 2U);
    EXPECT_EQ(task.gpuSeconds, 20U);
    EXPECT_EQ(task.ended, 0U);
    EXPECT_EQ(task.value, "");
    EXPECT_EQ(task.log, "/tmp/slurm-" + std::to_string(job.number) + ".out");
}

TEST_P(ClusterRecords, TellTheTasksOfArrays) {
    const SlurmJobs jobs = read();
    const jobs::JobRow ended = jobRow(named(jobs, "array"));
    EXPECT_TRUE(ended.isArray);
    EXPECT_EQ(ended.tasks, 5U);
    EXPECT_EQ(ended.done, 4U);
    EXPECT_EQ(ended.failed, 1U);
    EXPECT_EQ(ended.state, "failed");
    EXPECT_EQ(ended.status, 1);
    const SlurmJobRecord& wide = named(jobs, "sweep");
    const jobs::JobRow row = jobRow(wide);
    EXPECT_EQ(row.tasks, 90U);
    EXPECT_EQ(row.running, 2U);
    EXPECT_EQ(row.canceled, 1U);
    EXPECT_EQ(row.waiting, 87U);
    EXPECT_EQ(row.state, "running");
    EXPECT_EQ(wide.parallel, 2U);
    EXPECT_EQ(wide.tasks.at(7).state, "held");
    EXPECT_EQ(wide.tasks.at(90).reason, "2 tasks of this job run already");
    EXPECT_EQ(taskRow(wide, 90, {}, 0).value, "90");
    const std::string log = "/tmp/slurm-" + std::to_string(wide.number);
    EXPECT_EQ(taskRow(wide, 90, {}, 0).log, log + "_90.out");
    EXPECT_EQ(taskRow(wide, 1, {}, 0).log, log + "_1.out");
    EXPECT_EQ(taskRow(wide, 90, {{}, {}, {{90, "adam"}}}, 0).value, "adam");
    // Of a canceled array Slurm does not say which tasks never started.
    EXPECT_TRUE(named(jobs, "many").rest);
}

TEST_P(ClusterRecords, OfTheAccountingAgree) {
    SlurmJobs remembered = read();
    const SlurmJobs accounted =
        readAccounting(recorded(std::string(GetParam()) + ".jobs.sacct"), 1001);
    for (const char* name : {"done", "failed", "killed", "array"}) {
        const SlurmJobRecord& ofOne = named(remembered, name);
        const SlurmJobRecord& ofOther = named(accounted, name);
        EXPECT_EQ(ofOne.number, ofOther.number) << name;
        EXPECT_EQ(ofOne.gpus, ofOther.gpus) << name;
        EXPECT_EQ(ofOne.submitted, ofOther.submitted) << name;
        EXPECT_EQ(ofOne.folder, ofOther.folder) << name;
        EXPECT_EQ(ofOther.uid, 1001U) << name;
        EXPECT_EQ(ofOne.tasks.size(), ofOther.tasks.size()) << name;
        for (const auto& [number, task] : ofOther.tasks) {
            EXPECT_EQ(task.state, ofOne.tasks.at(number).state) << name;
            EXPECT_EQ(task.reason, ofOne.tasks.at(number).reason) << name;
            EXPECT_EQ(task.id, ofOne.tasks.at(number).id) << name;
            EXPECT_EQ(task.ended, ofOne.tasks.at(number).ended) << name;
            if (task.state != "canceled") {
                EXPECT_EQ(task.status, ofOne.tasks.at(number).status) << name;
            }
        }
    }
    for (const auto& [number, job] : accounted)
        EXPECT_NE(endOf(job), 0U) << number; // only ended ones
    // 22.05 also lists the tasks of a canceled array that never started.
    EXPECT_EQ(named(accounted, "many").tasks.size(), GetParam() == std::string("22.05") ? 6U : 1U);
    SlurmJobs forgotten = remembered;
    forgotten.erase(named(remembered, "done").number);
    addForgotten(forgotten, accounted);
    EXPECT_EQ(jobRow(named(forgotten, "done")).state, "done");
    EXPECT_EQ(jobRow(named(forgotten, "sweep")).waiting, 87U);
}

INSTANTIATE_TEST_SUITE_P(Slurm, ClusterRecords, ::testing::Values("22.05", "24.11"),
                         [](const auto& version) {
                             return std::string(version.param) == "22.05" ? "22_05" : "24_11";
                         });

TEST(ClusterAccounting, ANameMayHaveLinesOfItsOwn) {
    const SlurmJobs jobs = readAccounting("17\x1f"
                                          "17\x1f"
                                          "FAILED\x1f"
                                          "3:0\x1f"
                                          "100\x1f"
                                          "200\x1f"
                                          "300\x1f"
                                          "cpu=1,gres/gpu=2\x1f/x\x1f"
                                          "a\n"
                                          "18 b\nc\n",
                                          7);
    ASSERT_EQ(jobs.size(), 1U);
    EXPECT_EQ(jobs.at(17).name, "a\n18 b\nc");
    EXPECT_EQ(jobs.at(17).gpus, 2U);
    EXPECT_EQ(jobs.at(17).tasks.at(0).started, 200'000'000U);
}

TEST(ClusterAccounting, AnotherShapeIsRefused) {
    for (const char* text : {"17\x1f"
                             "17\x1f"
                             "FAILED\n",
                             "x\n",
                             "17\x1f"
                             "17\x1f"
                             "BORED\x1f"
                             "0:0\x1f"
                             "1\x1f"
                             "1\x1f"
                             "1\x1f\x1f\x1f\n"})
        EXPECT_THROW(readAccounting(text, 7), UnknownShape) << text;
    EXPECT_TRUE(readAccounting("", 7).empty());
}

TEST(ClusterRecords, OfAnotherShapeAreRefused) {
    for (const char* text :
         {"{}", "[]", R"({"jobs": [{"job_state": "RUNNING"}]})",
          R"({"jobs": [{"job_id": 1, "job_state": "BORED"}]})", R"({"jobs": [{"job_id": 1}]})",
          R"({"jobs": [{"job_id": 1, "job_state": "PENDING", "array_job_id": 1,
                        "array_task_string": "1,3,..."}]})"})
        EXPECT_THROW(readSlurmJobs(text), UnknownShape) << text;
}

TEST(ClusterDependencies, AreRead) {
    const auto read = readDependencies("afterok:17(unfulfilled),afternotok:18_*(failed)?afterany:"
                                       "19,singleton,after:20+3");
    ASSERT_EQ(read.size(), 3U);
    EXPECT_EQ(read[0], (jobs::Dependency{17, jobs::Condition::Ok}));
    EXPECT_EQ(read[1], (jobs::Dependency{18, jobs::Condition::Fail}));
    EXPECT_EQ(read[2], (jobs::Dependency{19, jobs::Condition::Any}));
}

TEST(ClusterStates, AreGenvsWords) {
    const auto word = [](const std::set<std::string>& states, const char* reason = "") {
        return stateWord(states, reason).value_or("unknown");
    };
    EXPECT_EQ(word({"PENDING"}, "JobHeldUser"), "held");
    EXPECT_EQ(word({"PENDING"}, "JobHeldAdmin"), "held");
    EXPECT_EQ(word({"PENDING", "REQUEUE_HOLD"}), "held");
    EXPECT_EQ(word({"COMPLETED", "COMPLETING"}), "running");
    EXPECT_EQ(word({"PENDING", "REQUEUED"}), "waiting");
    EXPECT_EQ(word({"TIMEOUT"}), "failed");
    EXPECT_EQ(word({"NODE_FAIL"}), "lost");
    EXPECT_EQ(word({"CANCELLED"}), "canceled");
    EXPECT_EQ(word({"BORED"}), "unknown");
    SlurmTask task;
    task.state = "failed";
    EXPECT_EQ(howEnded(task, {"TIMEOUT"}, ""), "it reached its time limit");
}

TEST(ClusterDependencies, OnAJobThatHasEndedAreDecidedAtOnce) {
    SlurmJobRecord job;
    job.number = 17;
    const auto met = [&](const std::vector<const char*>& states, jobs::Condition condition) {
        job.tasks.clear();
        for (const char* state : states)
            job.tasks[static_cast<std::uint32_t>(job.tasks.size())].state = state;
        return isMet(job, condition);
    };
    using jobs::Condition;
    for (const Condition condition : {Condition::Ok, Condition::Fail, Condition::Any})
        EXPECT_FALSE(met({"failed", "waiting"}, condition));
    EXPECT_TRUE(met({"done", "done"}, Condition::Ok));
    EXPECT_TRUE(met({"done", "failed"}, Condition::Fail));
    EXPECT_TRUE(met({"lost"}, Condition::Fail));
    EXPECT_TRUE(met({"canceled"}, Condition::Any));
    EXPECT_THROW(met({"done", "failed"}, Condition::Ok), Failure);
    EXPECT_THROW(met({"canceled"}, Condition::Ok), Failure);
    EXPECT_THROW(met({"canceled"}, Condition::Fail), Failure);
    EXPECT_THROW(met({"done"}, Condition::Fail), Failure);
}

TEST(ClusterChanges, ConcernTheTasksThatTheyConcernOnAMachine) {
    SlurmJobRecord job;
    job.number = 17;
    job.isArray = true;
    std::uint32_t number = 0;
    for (const char* state : {"done", "failed", "running", "waiting", "held", "canceled"})
        job.tasks[++number].state = state;
    using Numbers = std::vector<std::uint32_t>;
    EXPECT_EQ(concernedTasks(job, Change::Cancel, {}), (Numbers{3, 4, 5}));
    EXPECT_EQ(concernedTasks(job, Change::Cancel, {1, 4}), Numbers{4});
    EXPECT_EQ(concernedTasks(job, Change::Hold, {}), Numbers{4});
    EXPECT_EQ(concernedTasks(job, Change::Release, {}), Numbers{5});
    EXPECT_EQ(concernedTasks(job, Change::Requeue, {}), (Numbers{2, 6}));
    EXPECT_EQ(concernedTasks(job, Change::Requeue, {1, 3, 4}), (Numbers{1, 3}));
    EXPECT_EQ(changeCommand(job, Change::Cancel, {3, 4, 5}), (Words{"scancel", "17"}));
    EXPECT_EQ(changeCommand(job, Change::Cancel, {4}), (Words{"scancel", "17_[4]"}));
    EXPECT_EQ(changeCommand(job, Change::Hold, {4}), (Words{"scontrol", "uhold", "17_[4]"}));
    EXPECT_EQ(changeCommand(job, Change::Requeue, {2, 6}),
              (Words{"scontrol", "requeue", "17_[2,6]"}));
    job.isArray = false;
    EXPECT_EQ(changeCommand(job, Change::Release, {0}), (Words{"scontrol", "release", "17"}));
}

} // namespace
} // namespace genv::ctl::cluster
