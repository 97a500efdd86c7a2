// SPDX-License-Identifier: LGPL-2.1-or-later
// The metrics and their values: a pure function of the machines' data. The names of genv 1 are
// kept, even where other names would be better today. An unknown value has no sample at all, never
// a placeholder number.
#pragma once

#include "client/monitor/sample.hpp"

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace genv::monitor {

/// The series to omit, to keep their number small.
struct Selection {
    bool processes = true; ///< series for each process
    bool users = true;     ///< series for each user, and series that contain a user name
};

/// The result of a scrape for one of several hosts.
struct ServedHost {
    std::string hostname; ///< the value of the label that all its series have
    Served served;
};

/// Returns all metrics of this machine. `timeout` is the time that was spent waiting if no sample
/// arrived.
std::vector<prometheus::MetricFamily> collectMetrics(const Served& served,
                                                     std::chrono::duration<double> timeout,
                                                     Time now, const Selection& selection);

/// Returns all metrics of other hosts, whose names must be distinct.
std::vector<prometheus::MetricFamily> collectMetrics(const std::vector<ServedHost>& hosts, Time now,
                                                     const Selection& selection);

} // namespace genv::monitor
