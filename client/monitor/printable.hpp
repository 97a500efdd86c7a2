// SPDX-License-Identifier: LGPL-2.1-or-later
// What a person, a process or the driver chose, in a label or a message.
#pragma once

#include <string>
#include <string_view>

namespace genv::monitor {

/// Text that does nothing to a terminal and hides nothing: what is not printable, and what is no
/// UTF-8, as \xNN by bytes; everything else as it is. Quoting is up to the format it goes into.
std::string printable(std::string_view text);

} // namespace genv::monitor
