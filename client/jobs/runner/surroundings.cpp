// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/runner/surroundings.hpp"

#include "client/genvctl/shell/variables.hpp"

#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace genv::jobs {

namespace {

// The kernel takes any text as a variable, also one that setenv() would refuse. The array stays as
// long as this process; setenv() copies it and lets the texts be.
void replaceVariables(const std::vector<std::string>& variables) {
    static std::vector<std::string> texts;
    static std::vector<char*> pointers;
    for (const std::string& variable : variables) {
        if (!isOfEnvironment(variable))
            texts.push_back(variable);
    }
    for (std::string& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    ::environ = pointers.data();
}

} // namespace

bool isOfEnvironment(std::string_view variable) {
    return variable.starts_with("GENV_") || variable.starts_with("CUDA_VISIBLE_DEVICES=");
}

void setVariables(Client& client, const AttemptName& attempt, const AttemptOrder& order) {
    replaceVariables(order.environment);
    ctl::setOwnVariables(client, order.environmentId, false);
    ::setenv("GENV_JOB", std::to_string(attempt.task.job).c_str(), 1);
    if (order.isArray)
        ::setenv("GENV_ARRAY_TASK", order.value.c_str(), 1);
}

} // namespace genv::jobs
