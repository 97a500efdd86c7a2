// SPDX-License-Identifier: LGPL-2.1-or-later
// How values become columns and come back, with checks: the file may have been changed by others.
#pragma once

#include "client/jobs/model/job.hpp"
#include "client/jobs/store/database.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace genv::jobs {

/// A list of texts as one: each with a zero byte behind it.
[[nodiscard]] std::string joined(std::span<const std::string> texts);
[[nodiscard]] std::vector<std::string> split(std::string_view joined);

/// The largest number of a column stands for all above it.
[[nodiscard]] std::int64_t columnOf(std::uint64_t number);
[[nodiscard]] std::optional<std::int64_t> columnOf(const std::optional<core::WallTime>& time);
[[nodiscard]] std::int64_t columnOf(core::WallTime time);
[[nodiscard]] std::optional<core::WallTime> timeOf(std::optional<std::int64_t> column);

/// Reads the columns of a row in order. Throws JobError for a value that its field cannot hold.
class Row {
  public:
    Row(Database& database, Statement& statement) : database_(database), statement_(statement) {}

    template <typename Integer>
    Integer integer() {
        const std::int64_t value = statement_.integer();
        if (!std::in_range<Integer>(value))
            database_.broken("a number is out of range");
        return static_cast<Integer>(value);
    }
    template <typename Enumeration>
    Enumeration enumeration(Enumeration last) {
        const auto value = integer<std::uint8_t>();
        if (value > static_cast<std::uint8_t>(last))
            database_.broken("a state is unknown");
        return static_cast<Enumeration>(value);
    }
    bool boolean() { return statement_.integer() != 0; }
    std::optional<core::WallTime> time() { return timeOf(statement_.optionalInteger()); }
    std::string bytes() { return statement_.bytes(); }
    std::vector<std::string> texts() { return split(statement_.bytes()); }

  private:
    Database& database_;
    Statement& statement_;
};

/// The jobs with their tasks, by number.
[[nodiscard]] std::vector<Job> readJobs(Database& database);
/// What was submitted, without the values of the tasks.
[[nodiscard]] std::optional<Submission> readSubmission(Database& database, JobNumber job);

} // namespace genv::jobs
