// SPDX-License-Identifier: LGPL-2.1-or-later
// The options of "submit", and of "run --detach", which is the same. The options in a script are
// the same, too.
#pragma once

#include "client/genvctl/environment/own_environment.hpp"
#include "client/jobs/link/submitted_job.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace genv::ctl {

struct SubmitOptions {
    OwnEnvironmentOptions wanted; ///< without the wait: a job always waits
    std::optional<std::string> array;
    std::optional<std::string> after;
    std::optional<std::string> begin;
    std::optional<std::string> output;
    std::optional<std::string> memory;
    std::optional<std::uint32_t> retries;
    std::optional<std::uint32_t> cpus;
    bool hold = false;
    bool detach = false;      ///< typed as "run --detach": the words are a command
    std::string refusedValue; ///< of an option that "run" has and a job has not

    /// Adds the options. This object must outlive the parsing.
    void addTo(CLI::App& command);
    /// Adds those under the title "Job options".
    void addPlanTo(CLI::App& command);

    /// Throws Failure(Usage) for an option that "run" has and a job has not.
    void check(const CLI::App& command) const;
    /// The same, and returns a job with these options, but without its command and variables.
    /// Throws Failure also for an invalid value.
    [[nodiscard]] jobs::NewJob read(const CLI::App& command) const;
};

} // namespace genv::ctl
