// SPDX-License-Identifier: LGPL-2.1-or-later
// Slurm's node lists: "n[1-3,07],login".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl::cluster {

/// Returns the names in a list, in their order. A part that is not a valid list is returned
/// unchanged. Stops at 65536 names, which is more than Slurm allows in a cluster.
std::vector<std::string> expandHosts(std::string_view list);

/// Whether a name sorts before another one. Numbers in names are compared as numbers, so that n2
/// sorts before n10.
bool comesBefore(std::string_view first, std::string_view second);

} // namespace genv::ctl::cluster
