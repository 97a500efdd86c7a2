// SPDX-License-Identifier: LGPL-2.1-or-later
// How large a foreign JSON text (RFC 8259) would be once it is built, found out without building
// any of it. The parser's own callback could bound that, too, but takes a time that grows with the
// square of a list's length.
#pragma once

#include <cstddef>
#include <string_view>

namespace genv::core {

struct JsonExtent {
    std::size_t depth = 0;  ///< how many arrays and objects lie in one another at most
    std::size_t values = 0; ///< how many there are, arrays and objects among them, at most
};

/// The extent of a text; of what is no JSON, some extent.
JsonExtent extentOf(std::string_view json);

} // namespace genv::core
