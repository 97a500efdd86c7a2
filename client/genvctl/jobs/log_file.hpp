// SPDX-License-Identifier: LGPL-2.1-or-later
// Prints the output of a task, and later its growth.
#pragma once

#include "client/descriptor_functions.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace genv::ctl {

class LogFile {
  public:
    /// `lines`: how many of the last lines to print at first; unset for all.
    LogFile(std::string path, std::optional<std::size_t> lines)
        : path_(std::move(path)), lines_(lines) {}

    /// Opens the file. Returns whether it is there. Throws Failure for any other problem.
    bool open();
    /// Whether print() has something to print. Throws Failure.
    [[nodiscard]] bool hasMore();
    /// Prints the rest of the file, unchanged: the user's own command wrote these bytes. Throws
    /// Failure.
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
