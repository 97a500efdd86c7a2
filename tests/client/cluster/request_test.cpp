// SPDX-License-Identifier: LGPL-2.1-or-later
// The translation of genvctl's arguments to srun's, the arguments that are refused, and the
// detection of a cluster.
#include "client/genvctl/cluster/cluster_choice.hpp"
#include "client/genvctl/cluster/given_options.hpp"
#include "client/genvctl/cluster/srun_request.hpp"
#include "client/genvctl/command_line.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/completion/completion.hpp"
#include "client/genvctl/definition/definition.hpp"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

namespace genv::ctl::cluster {
namespace {

using Words = std::vector<std::string>;
using namespace std::chrono_literals;

std::vector<Partition> recordedPartitions(const std::string& version) {
    std::ifstream file(std::string(CLUSTER_FIXTURES) + "/slurm-" + version + ".partitions");
    std::ostringstream text;
    text << file.rdbuf();
    return readPartitions(text.str());
}

Partition gpus() {
    return chosenPartition(recordedPartitions("24.11"), std::nullopt);
}

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;
const ClientConfiguration sharing{Cluster::Slurm, 4 * gibibyte};

struct ArgumentsCase {
    JobRequest request;
    Words options; // between "srun -N1 -n1" and "-- true"
};

JobRequest request(std::uint32_t gpus) {
    JobRequest request;
    request.gpus = gpus;
    request.command = {"true"};
    return request;
}

JobRequest with(JobRequest request, const std::function<void(JobRequest&)>& change) {
    change(request);
    return request;
}

TEST(ClusterRequest, BecomesTheWordsOfSrun) {
    const std::vector<ArgumentsCase> cases{
        {request(0), {"--immediate=5"}},
        {request(2), {"--gpus=2", "--immediate=5"}},
        {with(request(2), [](auto& r) { r.waits = true; }), {"--gpus=2"}},
        {with(request(2),
              [](auto& r) {
                  r.waits = true;
                  r.maxWait = 30min;
              }),
         {"--gpus=2", "--immediate=1800"}},
        {with(request(2),
              [](auto& r) {
                  r.waits = true;
                  r.maxWait = 1s;
              }),
         {"--gpus=2", "--immediate=2"}},
        {with(request(1), [](auto& r) { r.model = "rtx"; }), {"--gpus=rtx:1", "--immediate=5"}},
        {with(request(1), [](auto& r) { r.model = "A1"; }), {"--gpus=a100:1", "--immediate=5"}},
        {with(request(1), [](auto& r) { r.model = "fast"; }),
         {"--gpus=1", "--constraint=fast", "--immediate=5"}},
        {with(request(1), [](auto& r) { r.lifetime = 2h; }),
         {"--gpus=1", "--time=02:00:00", "--immediate=5"}},
        {with(request(1), [](auto& r) { r.name = "-x y"; }),
         {"--gpus=1", "--job-name=-x y", "--immediate=5"}},
        {with(request(1), [](auto& r) { r.memoryBytes = 4 * gibibyte; }),
         {"--gres=shard:1", "--immediate=5"}},
        {with(request(1),
              [](auto& r) {
                  r.memoryBytes = 9 * gibibyte;
                  r.model = "rtx";
              }),
         {"--gres=shard:3", "--constraint=rtx", "--immediate=5"}},
        {with(request(1), [](auto& r) { r.hasTerminal = true; }),
         {"--gpus=1", "--immediate=5", "--pty"}},
    };
    for (const auto& [asked, options] : cases) {
        Words expected{"srun", "-N1", "-n1"};
        expected.insert(expected.end(), options.begin(), options.end());
        expected.insert(expected.end(), {"--", "true"});
        EXPECT_EQ(srunWords(asked, gpus(), sharing), expected);
    }
}

std::pair<ExitStatus, std::string> refusal(const JobRequest& asked,
                                           const ClientConfiguration& configuration = sharing,
                                           const std::optional<Partition>& partition = gpus()) {
    try {
        srunWords(asked, partition, configuration);
    } catch (const Failure& failure) {
        EXPECT_NE(failure.hint(), "") << failure.what();
        return {failure.status(), failure.what()};
    }
    return {ExitStatus::Ok, ""};
}

TEST(ClusterRequest, WhatThePartitionCannotGiveIsRefused) {
    using Refusal = std::pair<ExitStatus, std::string>;
    EXPECT_EQ(
        refusal(request(5)),
        (Refusal{ExitStatus::NoDevice, "no node of the partition gpus has 5 GPUs: at most 4"}));
    EXPECT_EQ(refusal(with(request(1), [](auto& r) { r.model = "h100"; })),
              (Refusal{ExitStatus::NoDevice, "the partition gpus has no GPUs \"h100\""}));
    const auto small = with(request(1), [](auto& r) { r.memoryBytes = gibibyte; });
    EXPECT_EQ(refusal(small, {Cluster::Slurm, {}}).first, ExitStatus::Usage);
    EXPECT_EQ(refusal(with(small, [](auto& r) { r.gpus = 2; })),
              (Refusal{ExitStatus::Usage,
                       "--gpu-memory: Slurm gives a job shards of one GPU, not of several"}));
    EXPECT_EQ(refusal(with(small, [](auto& r) { r.memoryBytes = 17 * gibibyte; })),
              (Refusal{ExitStatus::NoDevice,
                       "--gpu-memory: no GPU of the partition gpus has more than 16 GiB"}));
    EXPECT_EQ(refusal(with(small, [](auto& r) { r.model = "a100"; })),
              (Refusal{ExitStatus::Usage,
                       "--gpu-memory: Slurm gives no shards by the type of their GPU"}));
    const Partition old = chosenPartition(recordedPartitions("24.11"), "old");
    EXPECT_EQ(refusal(small, sharing, old),
              (Refusal{ExitStatus::Usage, "--gpu-memory: the partition old shares no GPU among "
                                          "jobs: its nodes have no shards"}));
}

TEST(ClusterRequest, AModelThatFitsSeveralTypesIsToBeNamedInFull) {
    const Partition both = chosenPartition(
        readPartitions("p*|gpu:a100_40g:4|(null)\np*|gpu:a100_80g:4|(null)\n"), std::nullopt);
    EXPECT_EQ(refusal(with(request(1), [](auto& r) { r.model = "a100"; }), sharing, both).second,
              "--model: \"a100\" fits several types of GPUs: a100_40g, a100_80g");
}

TEST(ClusterRequest, ThePartitionIsTheOneWhereTheJobWouldRun) {
    for (const char* version : {"22.05", "24.11"}) {
        const auto all = recordedPartitions(version);
        EXPECT_EQ(all.size(), 3U);
        EXPECT_EQ(chosenPartition(all, std::nullopt).name, "gpus");
        EXPECT_EQ(chosenPartition(all, "old").maxGpus, 2U);
        EXPECT_EQ(chosenPartition(all, "cpu,old").maxGpus, 2U);
        EXPECT_EQ(chosenPartition(all, std::nullopt).shardsPerGpu, 4U);
    }
    const auto failureOf = [](const std::string& text, const std::optional<std::string>& names) {
        try {
            chosenPartition(readPartitions(text), names);
        } catch (const Failure& failure) {
            return std::string(failure.what()) + " / " + failure.hint();
        }
        return std::string();
    };
    const std::string text = "cpu*|(null)|(null)\ngpus|gpu:2|(null)\n";
    EXPECT_EQ(failureOf(text, std::nullopt),
              "the partition cpu has no GPUs / Choose another by the "
              "variable SLURM_PARTITION; with GPUs: gpus");
    EXPECT_EQ(failureOf(text, "x"), "SLURM_PARTITION: unknown partition \"x\" / Partitions of this "
                                    "cluster: cpu, gpus");
    EXPECT_EQ(failureOf("gpus|gpu:2|(null)", std::nullopt),
              "this cluster has no default partition / Choose one by the variable SLURM_PARTITION; "
              "with GPUs: gpus");
    EXPECT_EQ(failureOf("", std::nullopt), "this cluster has no default partition / Choose one by "
                                           "the variable SLURM_PARTITION; with GPUs: none");
}

TEST(ClusterRequest, TimesAreWrittenAsSlurmReadsThem) {
    EXPECT_EQ(slurmTime(30s), "00:00:30");
    EXPECT_EQ(slurmTime(90min), "01:30:00");
    EXPECT_EQ(slurmTime(50h + 1s), "2-02:00:01");
}

// An option without a meaning would silently be dropped on a cluster.
void expectMeanings(const Definition& definition, const CLI::App& command) {
    for (const CLI::Option* option : command.get_options()) {
        if (option == command.get_help_ptr())
            continue;
        EXPECT_TRUE(definition.traitsOf(*option).onCluster.has_value())
            << commandPath(command) << " " << nameOf(*option)
            << " is defined without its meaning on a cluster (OptionTraits::onCluster)";
    }
}

TEST(ClusterOptions, EachOptionOfAMappedCommandHasAMeaning) {
    withCommandLine([](const CLI::App& app) {
        const Definition& definition = Definition::of(app);
        const auto isAny = [](const CLI::App*) { return true; };
        const auto isMapped = [&](const CLI::App& command) {
            return definition.traitsOf(command).onCluster.use == Handling::Mapped;
        };
        for (const CLI::App* command : app.get_subcommands(isAny)) {
            if (!isMapped(*command))
                continue;
            expectMeanings(definition, *command);
            for (const CLI::App* below : command->get_subcommands(isAny)) {
                if (isMapped(*below))
                    expectMeanings(definition, *below);
                else
                    EXPECT_EQ(definition.traitsOf(*below).onCluster.use, Handling::Refused)
                        << commandPath(*below)
                        << " is defined without its meaning on a cluster "
                           "(CommandTraits::onCluster)";
            }
        }
    });
}

TEST(ClusterConfiguration, IsRead) {
    const auto read = [](const char* text) { return parseConfiguration(text, "genv.conf"); };
    EXPECT_EQ(read("").cluster, Cluster::None);
    EXPECT_EQ(read("[Client]\nCluster=slurm\n").cluster, Cluster::Slurm);
    EXPECT_EQ(read("# x\n\n [Client] \r\n Cluster = none\n;y").cluster, Cluster::None);
    EXPECT_EQ(read("[Client]\nShardMemory=4gi").shardBytes, 4 * gibibyte);
}

TEST(ClusterConfiguration, AMistakeIsNamedWithItsLine) {
    const std::map<std::string, std::string> mistakes{
        {"[Client]\nCluster=sge", "genv.conf, line 2: unknown cluster \"sge\""},
        {"Cluster=slurm", "genv.conf, line 1: invalid line"},
        {"[Client]\n\nnonsense", "genv.conf, line 3: invalid line"},
        {"[Limits]", "genv.conf, line 1: unknown section \"[Limits]\""},
        {"[Client]\nColour=red", "genv.conf, line 2: unknown key \"Colour\""},
        {"[Client]\nShardMemory=0",
         "genv.conf, line 2: invalid amount of memory \"0\": expected at least one byte"},
    };
    for (const auto& [text, what] : mistakes) {
        try {
            parseConfiguration(text, "genv.conf");
            ADD_FAILURE() << text;
        } catch (const Failure& failure) {
            EXPECT_EQ(failure.what(), what);
            EXPECT_NE(failure.hint(), "");
        }
    }
}

Cluster choice(const std::optional<std::string>& option,
               const std::map<std::string, const char*>& variables, Cluster configured) {
    return chosenCluster(
        option,
        [&](const char* name) -> const char* {
            const auto found = variables.find(name);
            return found == variables.end() ? nullptr : found->second;
        },
        [&] {
            return ClientConfiguration{configured, {}};
        });
}

TEST(ClusterChoice, TheOptionComesBeforeTheVariableAndThatBeforeTheFile) {
    EXPECT_EQ(choice({}, {}, Cluster::None), Cluster::None);
    EXPECT_EQ(choice({}, {}, Cluster::Slurm), Cluster::Slurm);
    EXPECT_EQ(choice({}, {{"GENV_CLUSTER", "none"}}, Cluster::Slurm), Cluster::None);
    EXPECT_EQ(choice({}, {{"GENV_CLUSTER", ""}}, Cluster::Slurm), Cluster::Slurm);
    EXPECT_EQ(choice("slurm", {{"GENV_CLUSTER", "none"}}, Cluster::None), Cluster::Slurm);
    EXPECT_THROW(choice({}, {{"GENV_CLUSTER", "x"}}, Cluster::Slurm), Failure);
}

TEST(ClusterChoice, InAJobOnItsNodeTheNodeIsMeant) {
    const std::map<std::string, const char*> job{
        {"SLURM_JOB_ID", "7"}, {"SLURMD_NODENAME", "n1"}, {"GENV_CLUSTER", "slurm"}};
    EXPECT_EQ(choice({}, job, Cluster::Slurm), Cluster::None);
    EXPECT_EQ(choice("slurm", job, Cluster::Slurm), Cluster::Slurm);
    EXPECT_EQ(choice({}, {{"SLURM_JOB_ID", "7"}}, Cluster::Slurm), Cluster::Slurm)
        << "a shell of salloc's";
}

} // namespace
} // namespace genv::ctl::cluster
