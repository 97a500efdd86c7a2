// SPDX-License-Identifier: LGPL-2.1-or-later
// Texts about the sensors of a GPU: in cells of the table, and in the details.
#pragma once

#include "client/top/span.hpp"
#include "genv/types.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace genv::top {

/// Each returns "?" for a value that is not known.
std::string percentText(const DeviceSensors& sensors);
std::string temperatureText(const DeviceSensors& sensors, Charset charset);
/// Returns the power with its limit, if both fit into this number of cells.
std::string powerText(const DeviceSensors& sensors, std::size_t width);

/// Returns the names and values of the sensors for the details, without those that are not known.
std::vector<std::pair<std::string_view, std::string>> sensorFacts(const DeviceSensors& sensors);

} // namespace genv::top
