// SPDX-License-Identifier: LGPL-2.1-or-later
// The reader of /proc for tests: the helper that genvd starts, started by the test.
#pragma once

#include "service/processes/proc_reader.hpp"

#include <memory>
#include <string>
#include <vector>

namespace genv::tests {

/// Log lines go to `logged` if it is given.
inline service::ProcAccess
procAccess(std::vector<std::string>* logged = nullptr,
           std::chrono::milliseconds retry = service::HungProcesses::retryAfter) {
    return {{GENV_TEST_GENVD},
            std::make_shared<service::HungProcesses>(
                [logged](const std::string& line) {
                    if (logged != nullptr)
                        logged->push_back(line);
                },
                retry)};
}

} // namespace genv::tests
