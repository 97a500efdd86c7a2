// SPDX-License-Identifier: LGPL-2.1-or-later
// What becomes of a task at each step. Each function takes a task as it is and returns it as it
// will be; whether the step is possible is decided by the book.
#pragma once

#include "client/jobs/model/job.hpp"

#include <string>
#include <vector>

namespace genv::jobs::steps {

/// A waiting task gets its next attempt.
[[nodiscard]] Task begun(Task task, const std::string& environment,
                         const std::vector<std::string>& devices, core::WallTime now);
/// The attempt has its start mark.
[[nodiscard]] Task started(Task task, core::WallTime at);
/// The attempt never began.
[[nodiscard]] Task notStarted(Task task, core::WallTime now);
/// The attempt ended: the task waits again where the wish or its retries say so.
[[nodiscard]] Task ended(Task task, const AttemptEnding& ending, std::uint32_t retries);
/// A task that is not open fails without an attempt.
[[nodiscard]] Task refused(Task task, const std::string& reason, core::WallTime now);
/// A task that is not open is canceled.
[[nodiscard]] Task canceled(Task task, const std::string& reason, core::WallTime now);
/// The same for many: those without a record share one.
void cancelAll(std::vector<Task>& tasks, const std::string& reason, core::WallTime now);
/// A task that has ended waits anew.
[[nodiscard]] Task requeued(Task task);

} // namespace genv::jobs::steps
