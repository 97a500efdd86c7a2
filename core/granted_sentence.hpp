// SPDX-License-Identifier: LGPL-2.1-or-later
// What a status file says of a grant. The service writes it for the other shells of an environment,
// and genvctl knows by it what the shell that waited was answered already.
#pragma once

#include <string_view>

namespace genv::core {

/// Between what was granted and how long that took: "GPU 0 was granted after 5min in the queue".
inline constexpr std::string_view grantedAfter = " granted after ";

} // namespace genv::core
