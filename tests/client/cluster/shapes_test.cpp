// SPDX-License-Identifier: LGPL-2.1-or-later
// The conversion of Slurm's JSON, in the form of each version, to rows and tables.
#include "client/genvctl/cluster/cluster_listings.hpp"
#include "client/genvctl/cluster/hostlist.hpp"
#include "client/genvctl/cluster/shapes.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace genv::ctl::cluster {
namespace {

using Words = std::vector<std::string>;

std::string fixture(const std::string& name) {
    std::ifstream file(std::string(CLUSTER_FIXTURES) + "/slurm-" + name);
    EXPECT_TRUE(file.is_open()) << name;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// "n1/0 slurm-1 shared 3": one word for each of these fields that is set.
Words rowsOf(const Json& devices) {
    Words rows;
    for (const Json& device : devices) {
        std::string row =
            fmt::format("{}/{} {} {}", device["host"].get<std::string>(), device["index"].dump(),
                        device["model"].dump(), device["health"].get<std::string>());
        for (const Json& holder : device["attachments"])
            row += fmt::format(" {}{}", holder["environment"].get<std::string>(),
                               holder["shared"] == true ? "+" + holder["shards"].dump() : "");
        rows.push_back(row);
    }
    return rows;
}

class Shapes : public testing::TestWithParam<const char*> {
  protected:
    const std::string version = GetParam();
    const Nodes nodes = readNodes(fixture(version + ".busy.sinfo.json"));
    const Jobs jobs = readJobs(fixture(version + ".busy.squeue.json"));
};

TEST_P(Shapes, EachGpuOfTheClusterHasItsHolders) {
    EXPECT_EQ(
        rowsOf(devicesJson(nodes, jobs)),
        (Words{"n1/0 \"rtx\" ok slurm-1", "n1/1 \"rtx\" ok slurm-1", "n1/2 \"rtx\" ok slurm-2",
               "n1/3 \"rtx\" ok", "n2/0 \"rtx\" ok slurm-3", "n2/1 \"rtx\" ok slurm-4+3",
               "n2/2 \"rtx\" ok slurm-5+2", "n2/3 \"rtx\" ok", "n3/0 \"a100\" drained slurm-8",
               "n3/1 \"a100\" drained", "n4/0 null ok slurm-3", "n4/1 null ok"}));
}

TEST_P(Shapes, JobsWithGpusAreEnvironments) {
    Words rows;
    for (const Json& job : jobsJson(jobs))
        rows.push_back(fmt::format("{} {} {} {} {} {}", job["id"].get<std::string>(),
                                   job["uid"].dump(), job["user"].get<std::string>(),
                                   job["name"].get<std::string>(), job["host"].get<std::string>(),
                                   job["attachments"].size()));
    EXPECT_EQ(rows, (Words{"slurm-1 1001 alice training n1 2", "slurm-2 1002 bob a \"name\" n1 1",
                           "slurm-3 1001 alice wide n[2,4] 2", "slurm-4 1002 bob share n2 1",
                           "slurm-5 1001 alice share2 n2 1", "slurm-8 1001 alice many n3 1"}));
}

TEST_P(Shapes, TheQueueHasTheJobsThatWaitForGpus) {
    Words rows;
    for (const Json& job : queueJson(jobs))
        rows.push_back(fmt::format("{} {} {}+{} {} {}", job["position"].dump(),
                                   job["environment"].get<std::string>(), job["gpus"].dump(),
                                   job["shards"].dump(), job["reason"].get<std::string>(),
                                   job["expected_start"].is_null() ? "?" : "known"));
    const Words expected{"1 slurm-7 1+0 JobArrayTaskLimit ?", "2 slurm-10 8+0 Resources ?",
                         "3 slurm-11 1+0 Dependency ?",       "4 slurm-12 4+0 BeginTime known",
                         "5 slurm-13 0+16 ReqNodeNotAvail ?", "6 slurm-15 1+0 JobHeldUser ?"};
    EXPECT_EQ(rows, expected);
}

TEST_P(Shapes, AJobKnowsWhereItsBatchHostIsAndWhenItBegan) {
    const ClusterJob& first = jobs.front();
    EXPECT_EQ(first.batchHost, "n1");
    ASSERT_TRUE(first.begins);
    EXPECT_GE(*first.begins, first.submitted);
    EXPECT_GT(first.submitted.time_since_epoch(), std::chrono::hours(24 * 365 * 50));
}

TEST_P(Shapes, TablesFitAnOrdinaryTerminal) {
    const ListingOptions options;
    for (Table table : {devicesTable(nodes, jobs, options), jobsTable(jobs, options),
                        queueTable(jobs, options, currentTime())}) {
        table.fit(80);
        std::istringstream lines(table.text(true));
        for (std::string line; std::getline(lines, line);)
            EXPECT_LE(line.size(), 84U) << line; // an ellipsis is three bytes long
    }
}

INSTANTIATE_TEST_SUITE_P(OfSlurm, Shapes, testing::Values("22.05", "23.11", "24.11"),
                         [](const auto& parameter) {
                             std::string name = parameter.param;
                             name[2] = '_';
                             return name;
                         });

TEST(ClusterShapes, AnIdleClusterHasFreeGpusOnly) {
    for (const std::string version : {"22.05", "24.11"}) {
        const Nodes nodes = readNodes(fixture(version + ".idle.sinfo.json"));
        const Jobs jobs = readJobs(fixture(version + ".idle.squeue.json"));
        EXPECT_EQ(nodes.size(), 4U) << version;
        EXPECT_TRUE(jobs.empty()) << version;
        EXPECT_EQ(devicesJson(nodes, jobs).size(), 12U) << version;
    }
}

TEST(ClusterShapes, ACsvHasNoWordsBesideTheCells) {
    ListingOptions options;
    options.format = "csv";
    options.timestamp = true;
    Table table = devicesTable(readNodes(fixture("24.11.busy.sinfo.json")),
                               readJobs(fixture("24.11.busy.squeue.json")), options);
    table.leaveOutExtras();
    const std::string csv = table.csv(true);
    EXPECT_EQ(csv.substr(0, csv.find('\n')), "NODE,ID,ENV ID,ENV NAME,ATTACHED");
    EXPECT_EQ(csv.find("shard)"), std::string::npos);
    EXPECT_EQ(csv.find("drained"), std::string::npos);
    EXPECT_NE(csv.find("n3,1,,,\n"), std::string::npos);
}

TEST(ClusterShapes, AComplaintOfSlurmsIsNoEmptyList) {
    EXPECT_THROW(readNodes(fixture("22.05.down.sinfo.json")), SlurmComplaint);
    try {
        readJobs(fixture("22.05.down.squeue.json"));
        FAIL();
    } catch (const SlurmComplaint& error) {
        EXPECT_STREQ(error.what(), "Failed while looking for jobs: Unspecified error");
    }
}

TEST(ClusterShapes, AnUnknownShapeIsToldAsSuch) {
    for (const char* text :
         {"", "nonsense", "[]", "7", "{}", R"({"jobs": {}})", R"({"jobs": [{}]})",
          R"({"jobs": [7]})", R"({"jobs": [{"job_id": 1}]})",
          R"({"jobs": [{"job_id": "1", "job_state": "RUNNING"}]})",
          R"({"jobs": [{"job_id": 1, "job_state": "RUNNING"})"})
        EXPECT_THROW(readJobs(text), UnknownShape) << text;
    for (const char* text :
         {R"({"nodes": [{"name": "n1"}]})", R"({"sinfo": [{}]})", R"({"sinfo": [[]]})",
          R"({"sinfo": [{"nodes": {"nodes": "n1"}, "node": {}, "gres": {"total": ""}}]})",
          R"({"sinfo": [{"nodes": {"nodes": [1]}, "node": {}, "gres": {"total": ""}}]})",
          R"({"sinfo": [{"nodes": {"nodes": ["n1"]}, "node": {}, "gres": "gpu:1"}]})"})
        EXPECT_THROW(readNodes(text), UnknownShape) << text;
}

TEST(ClusterShapes, AnAnswerThatEndsTooEarlyIsToldAsSuch) {
    const std::string whole = fixture("22.05.busy.squeue.json");
    const std::size_t end = whole.find_last_of('}');
    for (std::size_t length = 0; length <= end; length += 251)
        EXPECT_THROW(readJobs(whole.substr(0, length)), UnknownShape) << length;
    EXPECT_THROW(readJobs(whole.substr(0, end)), UnknownShape);
    EXPECT_THROW(readJobs(whole + "}"), UnknownShape);
}

TEST(ClusterShapes, FieldsOfOtherTypesAreLeftOut) {
    const Jobs jobs = readJobs(
        R"({"jobs": [{"job_id": {"set": true, "infinite": false, "number": 7}, "job_state": ["RUNNING"],
            "name": 5, "nodes": null, "gres_detail": [3, null], "priority": {"set": false, "number": 9},
            "start_time": {"set": {}, "number": {}}, "user_id": -1, "tres_per_node": []}]})");
    ASSERT_EQ(jobs.size(), 1U);
    EXPECT_EQ(jobs[0].id, 7U);
    EXPECT_EQ(jobs[0].name, "");
    EXPECT_EQ(jobs[0].priority, 0U);
    EXPECT_FALSE(jobs[0].begins);
    EXPECT_TRUE(jobs[0].gpus.empty());
}

TEST(ClusterShapes, ANameThatIsNoTextHidesNoJob) {
    const Jobs jobs = readJobs("{\"jobs\": [{\"job_id\": 1, \"job_state\": \"RUNNING\", \"name\": "
                               "\"a\xff\"}, {\"job_id\": 2, \"job_state\": \"RUNNING\"}]}");
    ASSERT_EQ(jobs.size(), 2U);
    EXPECT_EQ(jobs[0].name, "a?");
}

TEST(ClusterShapes, AGpuThatSlurmDoesNotNameIsShownAsUnknown) {
    const Nodes nodes = readNodes(
        R"({"nodes": [{"name": "n1", "state": "mixed", "state_flags": [], "gres": "gpu:2"}]})");
    const Jobs jobs = readJobs(R"({"jobs": [{"job_id": 1, "job_state": "RUNNING", "nodes": "n1",
                                             "gres_detail": ["gpu:1"]}]})");
    EXPECT_EQ(rowsOf(devicesJson(nodes, jobs)),
              (Words{"n1/0 null ok", "n1/1 null ok", "n1/null null ok slurm-1"}));
}

TEST(ClusterShapes, StatesThatTakeNoJobsAreTold) {
    const auto troubleOf = [](const std::string& state, const std::string& flags) {
        return readNodes(R"({"nodes": [{"name": "n1", "gres": "gpu:1", "state": ")" + state +
                         R"(", "state_flags": [)" + flags + "]}]}")
            .front()
            .trouble;
    };
    EXPECT_EQ(troubleOf("idle", ""), "");
    EXPECT_EQ(troubleOf("mixed", "\"POWERED_DOWN\""), "");
    EXPECT_EQ(troubleOf("idle", "\"DRAIN\""), "drained");
    EXPECT_EQ(troubleOf("down", "\"DRAIN\""), "down");
    EXPECT_EQ(troubleOf("idle", "\"NOT_RESPONDING\""), "not responding");
}

TEST(ClusterGres, WhatAJobHasIsReadInEachForm) {
    using Held = std::vector<HeldGres>;
    EXPECT_EQ(readHeldGres("gpu:rtx:2(IDX:0-1)"), (Held{{0, false, {}}, {1, false, {}}}));
    EXPECT_EQ(readHeldGres("gpu:rtx:1(IDX:3),gpu:a100:2(IDX:4,7)"),
              (Held{{3, false, {}}, {4, false, {}}, {7, false, {}}}));
    EXPECT_EQ(readHeldGres("shard:3(IDX:1)"), (Held{{1, true, 3}}));
    EXPECT_EQ(readHeldGres("shard:2(IDX:1-2)"), (Held{{1, true, {}}, {2, true, {}}}));
    EXPECT_EQ(readHeldGres("shard:rtx:5(0/4,3/4,2/4,0/4)"), (Held{{1, true, 3}, {2, true, 2}}));
    EXPECT_EQ(readHeldGres("gpu:2(IDX:N/A)"), (Held{{{}, false, {}}, {{}, false, {}}}));
    EXPECT_EQ(readHeldGres("gpu:0"), Held{});
    EXPECT_EQ(readHeldGres("license:3,gpu:1(IDX:0)"), (Held{{0, false, {}}}));
    EXPECT_EQ(readHeldGres("gpu:1(IDX:0-4000000000)"), (Held{{{}, false, {}}}));
    EXPECT_EQ(readHeldGres(""), Held{});
}

TEST(ClusterGres, WhatANodeHasIsReadInItsOrder) {
    EXPECT_EQ(readNodeGres("gpu:rtx:2(S:0-1),gpu:a100:1(S:1),shard:rtx:8,tmpdisk:5").models,
              (Words{"rtx", "rtx", "a100"}));
    EXPECT_EQ(readNodeGres("gpu:rtx:2(S:0,2),shard:rtx:8").shards, 8U);
    EXPECT_EQ(readNodeGres("gpu:2").models, (Words{"", ""}));
    EXPECT_EQ(readNodeGres("gpu").models, Words{""});
    EXPECT_TRUE(readNodeGres("(null)").models.empty());
    EXPECT_LE(readNodeGres("gpu:4000000000").models.size(), 4096U);
}

TEST(ClusterGres, WhatAJobWantsIsReadInEachForm) {
    for (const char* text : {"gres:gpu:2", "gres/gpu:2", "gres/gpu=2", "gres:gpu:rtx:2",
                             "gres/gpu:rtx=2", "cpu=1,gres/gpu=2", "gres:gpu,gres:gpu"})
        EXPECT_EQ(readWantedGres(text).gpus, 2U) << text;
    EXPECT_EQ(readWantedGres("gres/shard:16").shards, 16U);
    EXPECT_EQ(readWantedGres("cpu=2,mem=3G").gpus, 0U);
}

TEST(ClusterHosts, ListsAreExpandedInTheirOrder) {
    EXPECT_EQ(expandHosts("n1"), Words{"n1"});
    EXPECT_EQ(expandHosts("n[1-3,07],login"), (Words{"n1", "n2", "n3", "n07", "login"}));
    EXPECT_EQ(expandHosts("n[08-11]-ib"), (Words{"n08-ib", "n09-ib", "n10-ib", "n11-ib"}));
    EXPECT_EQ(expandHosts("r[1-2]n[1-2]"), (Words{"r1n1", "r1n2", "r2n1", "r2n2"}));
    EXPECT_EQ(expandHosts(""), Words{});
    EXPECT_EQ(expandHosts("n[1-"), Words{"n[1-"});
    EXPECT_LE(expandHosts("n[0-4000000000],m[0-65535]x[0-65535]").size(), 65536U);
}

TEST(ClusterHosts, NumbersInNamesCount) {
    EXPECT_TRUE(comesBefore("n2", "n10"));
    EXPECT_FALSE(comesBefore("n10", "n2"));
    EXPECT_TRUE(comesBefore("a9", "b1"));
    EXPECT_TRUE(comesBefore("n1", "n1x"));
    EXPECT_FALSE(comesBefore("n1", "n1"));
}

} // namespace
} // namespace genv::ctl::cluster
