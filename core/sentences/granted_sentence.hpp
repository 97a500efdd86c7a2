// SPDX-License-Identifier: LGPL-2.1-or-later
// The sentence about a grant in a status file. The service writes it for the other shells of an
// environment. genvctl recognises it, so that the shell that waited does not show its own result
// again.
#pragma once

#include <string_view>

namespace genv::core {

/// The text between the granted devices and the time it took: "GPU 0 was granted after 5min in the
/// queue".
inline constexpr std::string_view grantedAfter = " granted after ";

} // namespace genv::core
