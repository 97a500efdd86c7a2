// SPDX-License-Identifier: LGPL-2.1-or-later
// Which metrics there are and what their values are: a pure function of what the service said. The
// names of genv 1 are kept as they were, also where today one would choose others. What is not
// known has no sample at all, never a number that stands for it.
#pragma once

#include "client/monitor/sample.hpp"

#include <prometheus/metric_family.h>

#include <vector>

namespace genv::monitor {

/// What is left out to keep the number of series small.
struct Selection {
    bool processes = true; ///< series per process
    bool users = true;     ///< series per user, and those that name one
};

/// Everything that is served. `state` is null while the service does not answer; `took` is how long
/// the sample took.
std::vector<prometheus::MetricFamily> collectMetrics(const ServiceState* state,
                                                     std::chrono::duration<double> took,
                                                     const Counters& counters, Time now,
                                                     const Selection& selection);

} // namespace genv::monitor
