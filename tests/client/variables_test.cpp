// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/shell/status_file.hpp"
#include "client/genvctl/shell/variables.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace genv::ctl {
namespace {

const std::vector<Device> gpus{{0, "GPU-a", "A", 1}, {1, "GPU-b", "A", 1}, {10, "GPU-c", "A", 1}};
const std::vector<Device> withInstances{
    {0, "GPU-a", "A", 1}, {1, "MIG-b", "A", 1}, {2, "MIG-c", "A", 1}};

TEST(VisibleDevices, AreTheIndicesInOrder) {
    EXPECT_EQ(visibleDevices(gpus, {10, 1, 0}, false), "0,1,10");
    EXPECT_EQ(visibleDevices(gpus, {1}, false), "1");
}

TEST(VisibleDevices, HideAllGpusFromADetachedEnvironment) {
    EXPECT_EQ(visibleDevices(gpus, {}, false), "-1");
    EXPECT_EQ(visibleDevices(withInstances, {}, false), "-1");
}

TEST(VisibleDevices, AreUuidsWhereAnyDeviceIsAMigInstance) {
    EXPECT_EQ(visibleDevices(withInstances, {2, 1}, false), "MIG-b,MIG-c");
    EXPECT_EQ(visibleDevices(withInstances, {0}, false), "GPU-a");
    EXPECT_EQ(visibleDevices(withInstances, {7}, false), "-1")
        << "a device that vanished meanwhile";
}

TEST(VisibleDevices, AreUuidsInTheOrderOfTheIndicesUnderIsolation) {
    EXPECT_EQ(visibleDevices(gpus, {10, 0}, true), "GPU-a,GPU-c");
    EXPECT_EQ(visibleDevices(gpus, {}, true), "-1");
    EXPECT_EQ(visibleDevices(gpus, {7}, true), "-1") << "a device that vanished meanwhile";
}

TEST(EnvironmentVariables, CarryTheEnvironment) {
    Environment environment;
    environment.id = "7";
    environment.created = Time{std::chrono::microseconds{1'600'000'000'000'007}};
    environment.configuration = {"a name", 2, 4'000'000'000};
    EXPECT_EQ(environmentVariables(environment, "0,1"),
              (std::vector<Variable>{{"GENV_ENVIRONMENT_ID", "7"},
                                     {"GENV_ENVIRONMENT_CREATED", "1600000000000007"},
                                     {"GENV_STATUS_FILE", std::nullopt},
                                     {"GENV_ENVIRONMENT_NAME", "a name"},
                                     {"GENV_GPU_MEMORY", "4g"},
                                     {"GENV_GPUS", "2"},
                                     {"CUDA_VISIBLE_DEVICES", "0,1"},
                                     {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}));
}

TEST(EnvironmentVariables, NameTheStatusFileThatIsThere) {
    const tests::TemporaryFolder folder;
    folder.write("shell/a_2eb", "99 5\n0\n");
    setenv("GENV_RUNTIME_DIRECTORY", folder.path().c_str(), 1);
    EXPECT_EQ(statusFile("a.b"), folder.path() / "shell/a_2eb");
    EXPECT_EQ(firstStatusLine("a.b"), "99 5");
    EXPECT_EQ(statusFile("7"), std::nullopt);
    EXPECT_EQ(firstStatusLine("7"), std::nullopt);
    unsetenv("GENV_RUNTIME_DIRECTORY");
}

TEST(EnvironmentVariables, TakeStampAndDevicesFromAWholeFile) {
    const tests::TemporaryFolder folder;
    folder.write("shell/whole", "99 5\n0,2\n99 a sentence\n");
    folder.write("shell/none", "99 5\n-1\n");
    folder.write("shell/cut", "99 5\n0,");
    setenv("GENV_RUNTIME_DIRECTORY", folder.path().c_str(), 1);
    const auto headOf = [](const char* id) {
        const auto head = statusHead(id);
        return head ? head->stamp + " " + head->devices : "none";
    };
    EXPECT_EQ(headOf("whole"), "5 0,2");
    EXPECT_EQ(headOf("none"), "5 -1");
    EXPECT_EQ(headOf("cut"), "none");
    EXPECT_EQ(headOf("missing"), "none");
    unsetenv("GENV_RUNTIME_DIRECTORY");
}

TEST(EnvironmentVariables, OfAStartedEnvironmentAreKnownUnlessTheFileIsOfAnEarlierOne) {
    const tests::TemporaryFolder folder;
    folder.write("shell/own", "99 5000\n0,2\n");
    setenv("GENV_RUNTIME_DIRECTORY", folder.path().c_str(), 1);
    const auto variablesAt = [](const char* id, int microseconds) {
        return startedVariables(
            {id, {"study", 2, {}}, Time(std::chrono::microseconds(microseconds))});
    };
    Environment environment;
    environment.id = "own";
    environment.created = Time(std::chrono::microseconds(5000));
    environment.configuration = {"study", 2, {}};
    EXPECT_EQ(variablesAt("own", 5000), environmentVariables(environment, "0,2"));
    EXPECT_EQ(variablesAt("own", 5001), std::nullopt);
    EXPECT_EQ(variablesAt("other", 0), std::nullopt);
    unsetenv("GENV_RUNTIME_DIRECTORY");
}

TEST(EnvironmentVariables, HaveNoValueForWhatIsUnset) {
    for (const Variable& variable : configurationVariables({}))
        EXPECT_EQ(variable.value, std::nullopt) << variable.name;
}

TEST(NamedEnvironment, IsAnIdWithOrWithoutAStamp) {
    unsetenv("GENV_ENVIRONMENT_CREATED");
    setenv("GENV_ENVIRONMENT_ID", "1573", 1);
    EXPECT_EQ(namedEnvironment(), (client::NamedEnvironment{"1573", ""}));
    setenv("GENV_ENVIRONMENT_CREATED", "7", 1);
    EXPECT_EQ(namedEnvironment(), (client::NamedEnvironment{"1573", "7"}));
    setenv("GENV_ENVIRONMENT_ID", "../x", 1);
    EXPECT_EQ(namedEnvironment(), std::nullopt);
    setenv("GENV_ENVIRONMENT_ID", "", 1);
    EXPECT_EQ(namedEnvironment(), std::nullopt);
    unsetenv("GENV_ENVIRONMENT_ID");
    EXPECT_EQ(namedEnvironment(), std::nullopt);
    unsetenv("GENV_ENVIRONMENT_CREATED");
}

TEST(NamedEnvironment, IsTheCallersOwnWithTheirUidAndTheStamp) {
    using client::Standing;
    using client::standingOf;
    Environment environment;
    environment.id = "7";
    environment.uid = 1001;
    environment.created = Time{std::chrono::microseconds{1'600'000'000'000'007}};
    const client::NamedEnvironment stamped{"7", client::stampOf(environment.created)};
    const client::NamedEnvironment unstamped{"7", ""};
    EXPECT_EQ(standingOf(stamped, environment, 1001), Standing::Own);
    EXPECT_EQ(standingOf(unstamped, environment, 1001), Standing::Own);
    for (const std::uint32_t other : {0U, 1002U}) {
        EXPECT_EQ(standingOf(stamped, environment, other), Standing::Anothers);
        EXPECT_EQ(standingOf(unstamped, environment, other), Standing::Anothers);
    }
    for (const char* stamp :
         {"1600000000000008", "0", "x", "1600000000000007x", " 1600000000000007"})
        EXPECT_EQ(standingOf({"7", stamp}, environment, 1001), Standing::Ended) << stamp;
}

} // namespace
} // namespace genv::ctl
