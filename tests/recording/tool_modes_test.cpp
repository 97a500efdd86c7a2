// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/nvidia_smi/arguments.hpp"
#include "tests/recording/tool_recording.hpp"

#include <gtest/gtest.h>

#include <set>

using namespace genv::recording;
namespace smi = genv::shims::nvidia_smi;

namespace {

TEST(ToolModes, OnlyRead) {
    // The subcommands with the options by which they show something.
    const std::set<std::vector<std::string>> harmless{{"dmon", "-c", "1"},
                                                      {"dmon", "-s", "m", "-c", "1"},
                                                      {"pmon", "-c", "1"},
                                                      {"pmon", "-s", "m", "-c", "1"},
                                                      {"topo", "-m"},
                                                      {"topo", "-p2p", "r"},
                                                      {"nvlink", "-s"},
                                                      {"c2c", "-s"},
                                                      {"pci", "-gCnt"},
                                                      {"conf-compute", "-f"},
                                                      {"vgpu"},
                                                      {"power-profiles", "-l"},
                                                      {"mig", "-lgi"},
                                                      {"mig", "-lgip"},
                                                      {"mig", "-lci"}};
    for (const ToolMode& mode : toolModes()) {
        const bool isSubcommand =
            !mode.arguments.empty() && !mode.arguments.front().starts_with("-");
        const smi::Mode kind = smi::parseArguments(mode.arguments).mode;
        EXPECT_NE(kind, smi::Mode::Change) << mode.name;
        EXPECT_TRUE(kind != smi::Mode::Other || mode.arguments == std::vector<std::string>{"-B"})
            << mode.name;
        EXPECT_TRUE(!isSubcommand || harmless.contains(mode.arguments)) << mode.name;
    }
}

TEST(ToolModes, AreEachRecordedOnceUnderAName) {
    std::set<std::string> names;
    std::set<std::vector<std::string>> lines;
    for (const ToolMode& mode : toolModes()) {
        EXPECT_TRUE(names.insert(mode.name).second) << mode.name;
        EXPECT_TRUE(lines.insert(mode.arguments).second) << mode.name;
    }
}

} // namespace
