// SPDX-License-Identifier: LGPL-2.1-or-later
// The recorded output of `slurmd -G` of Slurm 22.05 and 24.11 (fixtures).
#include "service/slurm/gres_list.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace genv::service {
namespace {

using Names = std::vector<std::string>;

std::string recorded(const std::string& name) {
    std::ifstream file(std::string(GENV_SLURM_FIXTURES "/slurm-") + name);
    EXPECT_TRUE(file.is_open()) << name;
    return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the files in the output of both versions for one configuration.
Names filesIn(const std::string& name) {
    Names files = parseGpuFiles(recorded("22.05-" + name));
    EXPECT_EQ(parseGpuFiles(recorded("24.11-" + name)), files) << name;
    return files;
}

std::string gresErrorOf(const std::string& output) {
    try {
        parseGpuFiles(output);
        return "none";
    } catch (const GresError& error) {
        return error.what();
    }
}

TEST(GresList, CountsTheFilesOfALine) {
    EXPECT_EQ(filesIn("simple"), (Names{"/dev/nvidia2", "/dev/nvidia3"}));
    EXPECT_EQ(filesIn("list"), (Names{"/dev/nvidia0", "/dev/nvidia3"}));
}

TEST(GresList, KeepsTheOrderOfTheLines) {
    EXPECT_EQ(filesIn("two-types"),
              (Names{"/dev/nvidia2", "/dev/nvidia3", "/dev/nvidia0", "/dev/nvidia1"}));
    EXPECT_EQ(filesIn("two-types-of-one-file"), (Names{"/dev/nvidia3", "/dev/nvidia0"}));
    EXPECT_EQ(filesIn("node-names"), (Names{"/dev/nvidia1", "/dev/nvidia0"}));
}

TEST(GresList, KeepsTheZerosOfANumber) {
    const Names files = filesIn("padded");
    ASSERT_EQ(files.size(), 12U);
    EXPECT_EQ(files.front(), "/dev/nvidia00");
    EXPECT_EQ(files.back(), "/dev/nvidia11");
}

TEST(GresList, PassesOverPartsOfGpus) {
    const Names expected{"/dev/nvidia0", "/dev/nvidia2", "/dev/nvidia3", "/dev/nvidia4"};
    EXPECT_EQ(filesIn("shard"), expected);
    EXPECT_EQ(filesIn("mps"), (Names{"/dev/nvidia0", "/dev/nvidia1"}));
}

TEST(GresList, TakesTheLastFileOfAGpuWithSeveral) {
    EXPECT_EQ(filesIn("multiple-files"), Names{"/dev/nvidia1"});
    EXPECT_EQ(parseGpuFiles("slurmd: Gres Name=gpu Type=1g.10gb Count=1 Index=0 ID=7696487 "
                            "File=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap66,/dev/nvidia-caps/"
                            "nvidia-cap67 (null)\n"),
              Names{"/dev/nvidia-caps/nvidia-cap67"});
}

TEST(GresList, IsEmptyWhereSlurmHasNoGpuWithAFile) {
    for (const char* name : {"no-file", "no-gpu", "empty-gres-conf", "autodetect"})
        EXPECT_EQ(filesIn(name), Names{}) << name;
}

TEST(GresList, BearsWhatGpusWithCoresAndLinksAdd) {
    EXPECT_EQ(parseGpuFiles("slurmd: Gres Name=gpu Type=a100 Count=2 Index=0 ID=7696487 "
                            "File=/dev/nvidia[0-1] Cores=0-31 CoreCnt=64 Links=-1,4 "
                            "Flags=HAS_FILE,HAS_TYPE,ENV_NVML\n"),
              (Names{"/dev/nvidia0", "/dev/nvidia1"}));
}

TEST(GresList, RefusesWhatItDoesNotUnderstand) {
    EXPECT_EQ(gresErrorOf("slurmd: Gres Name=gpu Count=x File=/dev/nvidia0\n"),
              "slurmd -G printed \"slurmd: Gres Name=gpu Count=x File=/dev/nvidia0\", which genv "
              "does not understand");
    for (const char* line :
         {"Gres Name=gpu File=/dev/nvidia0", "Gres Name=gpu Count=1 File=",
          "Gres Name=gpu Count=1 File=nvidia0", "Gres Name=gpu Count=3 File=/dev/nvidia[0-1]",
          "Gres Name=gpu Count=2 File=/dev/nvidia[1-0]", "Gres Name=gpu Count=2 File=/dev/nvidia[0",
          "Gres Name=gpu Count=2 File=/dev/nvidia[0-99999999]",
          "Gres Name=gpu Count=2 File=/dev/nvidia[]", "Gres Name=gpu Count=2 File=/dev/[0-1]x",
          "Gres Name=gpu Count=-1 File=/dev/nvidia0"})
        EXPECT_NE(gresErrorOf(std::string("slurmd: ") + line), "none") << line;
    EXPECT_EQ(gresErrorOf("\x1b[31m Gres Name=gpu Count= File=/x").find('\x1b'), std::string::npos);
}

TEST(GresList, ExpandsNames) {
    EXPECT_EQ(expandFileNames("/dev/nvidia[0,2-3]"),
              (Names{"/dev/nvidia0", "/dev/nvidia2", "/dev/nvidia3"}));
    EXPECT_EQ(expandFileNames("/dev/nvidia[8-10],/dev/dri/card1"),
              (Names{"/dev/nvidia8", "/dev/nvidia9", "/dev/nvidia10", "/dev/dri/card1"}));
    EXPECT_THROW(expandFileNames(""), GresError);
    EXPECT_THROW(expandFileNames("/dev/nvidia[0-9999]"), GresError);
}

} // namespace
} // namespace genv::service
