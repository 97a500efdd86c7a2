// SPDX-License-Identifier: LGPL-2.1-or-later
// The request in a command line of nvidia-smi, and the command line for the real program.
#include "shims/nvidia_smi/arguments.hpp"
#include "shims/nvidia_smi/identity.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace genv::shims::nvidia_smi {
namespace {

using Words = std::vector<std::string>;

Mode modeOf(const Words& words) {
    return parseArguments(words).mode;
}

TEST(NvidiaSmiArguments, TellTheMode) {
    EXPECT_EQ(modeOf({}), Mode::Table);
    for (const Words& words : std::vector<Words>{
             {"-l"}, {"-l", "5"}, {"-l5"}, {"--loop=5"}, {"-lms", "100"}, {"-lms100"}, {"-i", "0"}})
        EXPECT_EQ(modeOf(words), Mode::Table) << words[0];
    EXPECT_EQ(modeOf({"-L"}), Mode::List);
    EXPECT_EQ(modeOf({"-q"}), Mode::QueryText);
    EXPECT_EQ(modeOf({"-q", "-d", "MEMORY"}), Mode::QueryText);
    EXPECT_EQ(modeOf({"-x", "-q", "--dtd"}), Mode::QueryXml);
    EXPECT_EQ(modeOf({"--query-gpu=index", "--format=csv"}), Mode::QueryGpu);
    EXPECT_EQ(modeOf({"--query-gpu", "index", "--format", "csv"}), Mode::QueryGpu);
    EXPECT_EQ(modeOf({"--query-compute-apps=pid", "--format=csv"}), Mode::QueryComputeApps);
    EXPECT_EQ(modeOf({"--query-accounted-apps=pid", "--format=csv"}), Mode::QueryAccountedApps);
    EXPECT_EQ(modeOf({"--query-retired-pages=gpu_uuid", "--format=csv"}), Mode::QueryOther);
    EXPECT_EQ(modeOf({"pmon", "-c", "1"}), Mode::ProcessMonitor);
    EXPECT_EQ(modeOf({"dmon"}), Mode::DeviceMonitor);
    EXPECT_EQ(modeOf({"topo", "-m"}), Mode::Subcommand);
    for (const Words& words : std::vector<Words>{
             {"-h"}, {"--help"}, {"--version"}, {"--help-query-gpu"}, {"topo", "-h"}})
        EXPECT_EQ(modeOf(words), Mode::Information) << words[0];
    for (const Words& words :
         std::vector<Words>{{"-pm", "1"}, {"-r"}, {"-c", "0"}, {"--power-limit=100", "-i", "0"}})
        EXPECT_EQ(modeOf(words), Mode::Change) << words[0];
    EXPECT_EQ(modeOf({"--frobnicate"}), Mode::Other);
    EXPECT_EQ(modeOf({"-q", "--frobnicate"}), Mode::Other);
    EXPECT_EQ(modeOf({"-u"}), Mode::Other);
}

TEST(NvidiaSmiArguments, SelectTheAttachedDevices) {
    const Words uuids{"GPU-a", "GPU-b"};
    const auto real = [&](const Words& words) { return parseArguments(words).forReal(uuids); };
    EXPECT_EQ(real({}), (Words{"--id=GPU-a,GPU-b"}));
    EXPECT_EQ(real({"-q", "-i", "0", "-x"}), (Words{"-q", "-x", "-i", "GPU-a,GPU-b"}));
    EXPECT_EQ(real({"-i0", "-L"}), (Words{"-L", "-i", "GPU-a,GPU-b"}));
    EXPECT_EQ(real({"--id=0", "-l", "2"}), (Words{"-l", "2", "--id=GPU-a,GPU-b"}));
    EXPECT_EQ(real({"pmon", "-i", "0,1", "-s", "u"}),
              (Words{"pmon", "-s", "u", "-i", "GPU-a,GPU-b"}));
    for (const Words& words :
         std::vector<Words>{{"-i", "3"}, {"-i3"}, {"--id=3"}, {"--id", "3"}, {"dmon", "--id=3"}})
        EXPECT_EQ(parseArguments(words).id, "3") << words[0];
    EXPECT_FALSE(parseArguments({"topo", "-i", "0,1"}).id);
    EXPECT_FALSE(parseArguments({"-L"}).takesId());
    EXPECT_FALSE(parseArguments({"nvlink", "-s"}).takesId());
    EXPECT_TRUE(parseArguments({"mig", "-lgi"}).takesId());
}

TEST(NvidiaSmiArguments, KeepHostileWords) {
    for (const Words& words : std::vector<Words>{{"-i"},
                                                 {"--id="},
                                                 {"--query-gpu"},
                                                 {"--format"},
                                                 {"-f"},
                                                 {"-d"},
                                                 {"--query-gpu="},
                                                 {""},
                                                 {"="},
                                                 {"--", "-i", "0"},
                                                 {"-l", "-i"},
                                                 {"pmon", "-i"},
                                                 {"pmon", "-f"}})
        EXPECT_LE(parseArguments(words).forReal({}).size(), words.size());
    EXPECT_EQ(parseArguments({"-i", ""}).id, "");
    EXPECT_EQ(parseArguments({"-f", "-i"}).file, "-i");
}

TEST(NvidiaSmiArguments, AddAFieldBehindThePersons) {
    Arguments arguments = parseArguments({"--query-gpu=index, Memory.Used", "--format=csv"});
    EXPECT_EQ(arguments.fields, (Words{"index", "memory.used"}));
    arguments.addField("uuid");
    EXPECT_EQ(arguments.forReal({}),
              (Words{"--query-gpu=index, Memory.Used,uuid", "--format=csv"}));
    Arguments apart = parseArguments({"--format", "csv,noheader", "--query-gpu", "name"});
    apart.addField("uuid");
    EXPECT_EQ(apart.forReal({}), (Words{"--format", "csv,noheader", "--query-gpu", "name,uuid"}));
    EXPECT_TRUE(apart.noHeader);
}

TEST(NvidiaSmiIdentity, IsAnyNameOfAnAttachedDevice) {
    const View view{{2, "GPU-c", 1, std::nullopt, {}}, {5, "MIG-b", 1, std::nullopt, {}}};
    const Seen seen(view, {{1, "GPU-b", {{0, "MIG-a"}, {1, "MIG-b"}}}});
    const auto chosen = [&](std::string_view list) {
        return choose(list, view, seen, [] {
            return parseIdentities("GPU-c, 00000000:03:00.0, 1234567890123\n"
                                   "GPU-b, 00000000:AF:00.0, 5\nGPU-z, 00000000:09:00.0, 7\n");
        });
    };
    EXPECT_EQ(chosen("2").uuids, (Words{"GPU-c"}));
    EXPECT_EQ(chosen("GPU-c,2").uuids, (Words{"GPU-c"}));
    EXPECT_EQ(chosen("5, 2").uuids, (Words{"GPU-b", "GPU-c"}));
    EXPECT_EQ(chosen("MIG-b").uuids, (Words{"GPU-b"}));
    EXPECT_EQ(chosen("1").uuids, (Words{"GPU-b"})); // the GPU of an attached instance
    EXPECT_EQ(chosen("0000:03:00.0").uuids, (Words{"GPU-c"}));
    EXPECT_EQ(chosen("00000000:af:00.0").uuids, (Words{"GPU-b"}));
    EXPECT_EQ(chosen("1234567890123").uuids, (Words{"GPU-c"}));
    for (const char* name : {"0", "GPU-a", "MIG-a", "00000000:09:00.0", "nonsense", "-1", "99999",
                             "00000000:03:00.0x"})
        EXPECT_EQ(chosen(std::string("2,") + name).refused, name);
    EXPECT_FALSE(chosen("").refused.empty());
    EXPECT_EQ(indicesOf(view), "2,5");
}

} // namespace
} // namespace genv::shims::nvidia_smi
