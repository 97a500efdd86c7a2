// SPDX-License-Identifier: LGPL-2.1-or-later
// Computes how large a foreign JSON text (RFC 8259) would be in memory, without building it. The
// parser's own callback could enforce a bound too, but its run time grows with the square of a
// list's length.
#pragma once

#include <cstddef>
#include <string_view>

namespace genv::core {

struct JsonExtent {
    std::size_t depth = 0;  ///< upper bound of the nesting depth of arrays and objects
    std::size_t values = 0; ///< upper bound of the number of values, including arrays and objects
};

/// Returns the extent of a text. The result for a text that is not JSON is unspecified.
JsonExtent extentOf(std::string_view json);

} // namespace genv::core
