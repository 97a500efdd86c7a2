// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/base/json_extent.hpp"

#include <algorithm>

namespace genv::core {

JsonExtent extentOf(std::string_view json) {
    JsonExtent extent{0, 1};
    std::size_t depth = 0;
    bool isInString = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (isInString) {
            if (c == '\\')
                ++i; // skip the escaped character, which does not end the string
            isInString = c != '"';
        } else if (c == '"') {
            isInString = true;
        } else if (c == '[' || c == '{') {
            extent.depth = std::max(extent.depth, ++depth);
            ++extent.values; // its first element
        } else if (c == ']' || c == '}') {
            depth -= depth > 0 ? 1U : 0U;
        } else if (c == ',') {
            ++extent.values;
        }
    }
    return extent;
}

} // namespace genv::core
