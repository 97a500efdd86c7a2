// SPDX-License-Identifier: LGPL-2.1-or-later
// The metrics of a machine's devices, environments, processes and users.
#pragma once

#include "client/monitor/metrics.hpp"

#include <prometheus/metric_family.h>

#include <vector>

namespace genv::monitor {

/// Adds the metrics of the part of the sample's state that is known.
void collectState(std::vector<prometheus::MetricFamily>& all, const Sample& sample, Time now,
                  const Selection& selection);

} // namespace genv::monitor
