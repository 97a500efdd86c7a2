// SPDX-License-Identifier: LGPL-2.1-or-later
// A job as it is submitted, and its form on the bus.
#pragma once

#include "client/jobs/link/reported_jobs.hpp"
#include "dbus/contract/raw_bus.hpp"

namespace genv::jobs {

/// A job to submit. Texts may hold any byte but 0.
struct NewJob {
    std::vector<std::string> command;
    std::string folder;                   ///< absolute
    std::vector<std::string> environment; ///< NAME=VALUE
    std::uint32_t umask = 022;
    std::optional<std::string> name;
    GpuRequest request;
    bool isArray = false;
    std::vector<TaskValue> tasks; ///< of an array
    Plan plan;
    bool hold = false;
    std::optional<std::string> output; ///< absolute path
    std::optional<std::uint32_t> cpus;
    std::optional<std::uint64_t> memoryBytes;
};

/// What becomes of the user's jobs at the logout.
enum class LingeringChange : std::uint8_t {
    Unchanged,
    Enabled, ///< they would have ended, and now do not
    Refused, ///< they end
};

/// The answer to a submission.
struct Submitted {
    JobNumber job = 0;
    LingeringChange lingering = LingeringChange::Unchanged;
};

/// Writes the options of Submit, a{sv}.
void write(dbus::raw::Writer& writer, const NewJob& job);

} // namespace genv::jobs
