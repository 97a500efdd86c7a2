// SPDX-License-Identifier: LGPL-2.1-or-later
// Prints the output of a task, and what is added to it.
#pragma once

#include "client/descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace genv::ctl {

class LogFile {
  public:
    /// `lines` is the number of lines to print of what is there at first; unset for all.
    LogFile(std::string path, std::optional<std::size_t> lines)
        : path_(std::move(path)), lines_(lines) {}

    /// Opens the file. Returns whether it is there. Throws Failure for any other problem.
    bool open();
    /// Whether print() has something to print. Throws Failure.
    [[nodiscard]] bool hasMore();
    /// Prints what was not printed yet. The bytes are those of the user's own command, and printed
    /// unchanged. Throws Failure.
    void print();

  private:
    [[nodiscard]] std::int64_t size() const;
    [[nodiscard]] std::int64_t startOfLastLines(std::int64_t end) const;

    std::string path_;
    std::optional<std::size_t> lines_;
    client::Descriptor file_;
    std::int64_t offset_ = 0;
};

} // namespace genv::ctl
