// SPDX-License-Identifier: LGPL-2.1-or-later
// Where the output of an attempt goes. Writing never fails and never waits for space: what finds no
// place is dropped, which the file says once.
#pragma once

#include "client/descriptor_functions.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace genv::jobs {

/// The size of a task's log from which on its output is dropped.
inline constexpr std::uint64_t maxLogSize = std::uint64_t{1} << 30;

struct OutputFile {
    std::string path;
    /// A log of genv-jobs: of its user alone, never through a link, and with a limit. Otherwise a
    /// file of the user's choice, which may be a device.
    bool isLog = false;
    std::uint32_t umask = 022; ///< for a file that is no log
};

class Output {
  public:
    explicit Output(OutputFile file, std::uint64_t limit = maxLogSize);

    /// Opens the file, to append. Returns why that can never succeed; a full disk is no such
    /// reason.
    [[nodiscard]] std::optional<std::string> open();
    void write(std::string_view text) noexcept;
    /// Writes "genv: TEXT" as a line of its own.
    void note(std::string_view text) noexcept;
    /// Notes that another attempt starts, unless the file is empty.
    void noteAttempt(std::uint32_t attempt) noexcept;

  private:
    bool isReady() noexcept;
    bool hasToldLoss() noexcept;
    bool append(std::string_view text) noexcept;
    bool appendLine(std::string_view first, std::string_view second) noexcept;

    OutputFile file_;
    std::uint64_t limit_;
    client::Descriptor descriptor_;
    std::uint64_t size_ = 0;
    bool endsLine_ = true;
    int loss_ = 0; ///< errno of a write that failed, until the file says so
    bool hasTold_ = false;
    bool isFull_ = false;
};

} // namespace genv::jobs
