// SPDX-License-Identifier: LGPL-2.1-or-later
// The variables that the command of a task gets.
#include "client/jobs/daemon/task_variables.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace genv::jobs {
namespace {

using Texts = std::vector<std::string>;

GrantedEnvironment granted() {
    GrantedEnvironment environment;
    environment.id = "job-7";
    environment.name = "sweep";
    environment.created = std::chrono::microseconds(12);
    environment.devices = {0, 2};
    environment.machine = {{0, "GPU-a", "T4"}, {1, "GPU-b", "T4"}, {2, "GPU-c", "T4"}};
    environment.isolation = "none";
    return environment;
}

std::map<std::string, std::string> setBy(const GrantedEnvironment& environment) {
    std::map<std::string, std::string> values;
    for (const auto& [name, value] : variablesOf(environment))
        values[name] = value.value_or("(unset)");
    return values;
}

TEST(JobVariables, NameTheEnvironmentAndItsDevices) {
    const auto values = setBy(granted());
    EXPECT_EQ(values.at("GENV_ENVIRONMENT_ID"), "job-7");
    EXPECT_EQ(values.at("GENV_ENVIRONMENT_CREATED"), "12");
    EXPECT_EQ(values.at("GENV_ENVIRONMENT_NAME"), "sweep");
    EXPECT_EQ(values.at("GENV_GPUS"), "(unset)");
    EXPECT_EQ(values.at("CUDA_VISIBLE_DEVICES"), "0,2");
    EXPECT_EQ(uuidsOf(granted()), (Texts{"GPU-a", "GPU-c"}));
}

TEST(JobVariables, NameUuidsWhereCudaHasOtherIndices) {
    GrantedEnvironment isolated = granted();
    isolated.isolation = "user";
    EXPECT_EQ(setBy(isolated).at("CUDA_VISIBLE_DEVICES"), "GPU-a,GPU-c");
    GrantedEnvironment child = granted();
    child.hasParent = true;
    EXPECT_EQ(setBy(child).at("CUDA_VISIBLE_DEVICES"), "GPU-a,GPU-c");
}

TEST(JobVariables, HideEveryDeviceFromAJobWithout) {
    GrantedEnvironment environment = granted();
    environment.devices.clear();
    EXPECT_EQ(setBy(environment).at("CUDA_VISIBLE_DEVICES"), "-1");
}

TEST(JobVariables, ReplaceThoseOfTheSubmittingShell) {
    const Texts submitted{
        "PATH=/bin",  "GENV_ENVIRONMENT_ID=9",  "GENV_X=1", "CUDA_VISIBLE_DEVICES=5",
        "A=b=c",      "CUDA_DEVICE_ORDER=FAST", "=x",       "no equals sign",
        "MY_GENV_X=1"};
    const Texts expected{"PATH=/bin",      "A=b=c",       "=x",
                         "no equals sign", "MY_GENV_X=1", "CUDA_VISIBLE_DEVICES=0",
                         "EMPTY="};
    EXPECT_EQ(withVariables(submitted, {{"CUDA_VISIBLE_DEVICES", "0"},
                                        {"CUDA_DEVICE_ORDER", std::nullopt},
                                        {"EMPTY", ""}}),
              expected);
}

} // namespace
} // namespace genv::jobs
