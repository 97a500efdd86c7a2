// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes configuration files for Prometheus and Grafana for a running exporter.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace genv::monitor {

/// Writes the files below `folder`, an absolute path: prometheus/ and grafana/. `target` is the
/// address and port of the exporter. Throws std::runtime_error.
void writeConfigFiles(const std::filesystem::path& folder, const std::string& target,
                      std::chrono::seconds interval);

} // namespace genv::monitor
