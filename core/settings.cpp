// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/settings.hpp"

namespace genv::core {

std::string toString(IsolationMode mode) {
    switch (mode) {
    case IsolationMode::Watch:
        return "watch";
    case IsolationMode::User:
        return "user";
    case IsolationMode::None:
        break;
    }
    return "none";
}

} // namespace genv::core
