// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/runner/surroundings.hpp"

#include "client/genvctl/shell/shims_folder.hpp"

#include <unistd.h>

#include <string>
#include <vector>

namespace genv::jobs {

// The kernel takes any text as a variable, also one that setenv() would refuse. The array stays as
// long as this process; setenv() copies it and lets the texts be.
void setVariables(const AttemptOrder& order) {
    static std::vector<std::string> texts;
    static std::vector<char*> pointers;
    texts = order.variables;
    for (std::string& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    ::environ = pointers.data();
    ctl::putShimsFirst();
}

} // namespace genv::jobs
