// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether the machine has the GPUs that a job asks for. One that it does not have would wait
// forever.
#pragma once

#include "client/jobs/daemon/request.hpp"
#include "client/jobs/daemon/service_link.hpp"

#include <vector>

namespace genv::jobs {

/// Throws JobError (InvalidArgs) if these devices never suffice for a request.
void requireDevices(const Dictionary& request, const std::vector<DeviceRow>& devices);

} // namespace genv::jobs
