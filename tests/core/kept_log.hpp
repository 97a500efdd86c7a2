// SPDX-License-Identifier: LGPL-2.1-or-later
// A log that a test reads.
#pragma once

#include "core/ports/log.hpp"

#include <string>
#include <vector>

namespace genv::tests {

class KeptLog : public core::Log {
  public:
    std::vector<std::string> lines;
    void write(core::Severity /*severity*/, const std::string& line) override {
        lines.push_back(line);
    }
};

} // namespace genv::tests
