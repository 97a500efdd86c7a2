// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the dictionaries of genv-jobs' answers. Unknown keys are skipped, so that an older genvctl
// understands a newer genv-jobs.
#pragma once

#include "client/jobs/link/reported_jobs.hpp"
#include "dbus/contract/raw_bus.hpp"

namespace genv::jobs {

void read(dbus::raw::Reader& reader, JobRow& row);
void read(dbus::raw::Reader& reader, JobDescription& description);
void read(dbus::raw::Reader& reader, TaskRow& row);

} // namespace genv::jobs
