// SPDX-License-Identifier: LGPL-2.1-or-later
// The ids of the environments of attempts: they name the job in listings, history and metrics.
#pragma once

#include "client/jobs/model/job.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace genv::jobs {

/// Returns "job-17.3-2" for the second attempt of task 3; without the task if the job is no array,
/// and without the attempt for the first. Each attempt has another id, so that nothing that is late
/// concerns the next one.
[[nodiscard]] std::string environmentIdOf(const AttemptName& attempt, bool isArray);

/// Returns the id to ask for if another user has that one: "job-17.3-2@1001", and with ".SERIAL" if
/// that is taken, too.
[[nodiscard]] std::string environmentIdOf(const std::string& id, std::uint32_t uid,
                                          std::uint64_t serial);

/// Returns the job of an environment, from its id; nothing for any other id.
[[nodiscard]] std::optional<JobNumber> jobOf(std::string_view environmentId);

} // namespace genv::jobs
