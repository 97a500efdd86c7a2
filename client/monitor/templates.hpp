// SPDX-License-Identifier: LGPL-2.1-or-later
// The files of data/prometheus and data/grafana. In files that end in .in, each @NAME@ is replaced
// when the exporter runs.
#pragma once

#include <string_view>

namespace genv::monitor {

extern const std::string_view prometheusConfig;
extern const std::string_view prometheusRules;
extern const std::string_view grafanaConfig;
extern const std::string_view grafanaDatasource;
extern const std::string_view grafanaProvider;
extern const std::string_view grafanaDashboard;

} // namespace genv::monitor
