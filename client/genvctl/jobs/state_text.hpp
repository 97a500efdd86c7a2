// SPDX-License-Identifier: LGPL-2.1-or-later
// The states of jobs and tasks in words, for genvctl and genv-top.
#pragma once

#include "client/jobs/link/reported_jobs.hpp"
#include "genv/types.hpp"

#include <cstdint>
#include <string>

namespace genv::ctl {

/// Returns the state: "waiting for a GPU, expected at 22:10", "failed with status 1", and of an
/// array "137/200 done, 4 running, 2 failed".
std::string stateText(const jobs::JobRow& job, Time now);
std::string stateText(const jobs::TaskRow& task);

/// Returns how long it has run, or ran; empty if it has not started.
std::string runTimeText(std::uint64_t started, std::uint64_t ended, Time now);
/// Returns the name; a job without one is recognized by its command.
std::string nameText(const jobs::JobRow& job);

} // namespace genv::ctl
