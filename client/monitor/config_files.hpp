// SPDX-License-Identifier: LGPL-2.1-or-later
// The files for Prometheus and Grafana that fit a running exporter.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace genv::monitor {

/// Writes the files below `folder`, which is absolute: prometheus/ and grafana/. `target` is the
/// exporter's address and port. Throws std::runtime_error.
void writeConfigFiles(const std::filesystem::path& folder, const std::string& target,
                      std::chrono::seconds interval);

} // namespace genv::monitor
