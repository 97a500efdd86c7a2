// SPDX-License-Identifier: LGPL-2.1-or-later
// Which metrics there are and what their values are: a pure function of what the machines said. The
// names of genv 1 are kept as they were, also where today one would choose others. What is not
// known has no sample at all, never a number that stands for it.
#pragma once

#include "client/monitor/sample.hpp"

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace genv::monitor {

/// What is left out to keep the number of series small.
struct Selection {
    bool processes = true; ///< series per process
    bool users = true;     ///< series per user, and those that name one
};

/// What a scrape is to say of one of several hosts.
struct ServedHost {
    std::string hostname; ///< the value of the label that all its series have
    Served served;
};

/// Everything that is served of this machine. `patience` is how long a sample was waited for where
/// none came.
std::vector<prometheus::MetricFamily> collectMetrics(const Served& served,
                                                     std::chrono::duration<double> patience,
                                                     Time now, const Selection& selection);

/// Everything that is served of other hosts, whose names differ.
std::vector<prometheus::MetricFamily> collectMetrics(const std::vector<ServedHost>& hosts, Time now,
                                                     const Selection& selection);

} // namespace genv::monitor
