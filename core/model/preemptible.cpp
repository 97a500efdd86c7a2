// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/model/preemptible.hpp"

namespace genv::core {

std::string toString(Preemptible preemptible) {
    switch (preemptible) {
    case Preemptible::Park:
        return "park";
    case Preemptible::End:
        return "end";
    case Preemptible::No:
        break;
    }
    return "no";
}

std::optional<Preemptible> parsePreemptible(std::string_view name) {
    for (const Preemptible preemptible : {Preemptible::No, Preemptible::Park, Preemptible::End}) {
        if (name == toString(preemptible))
            return preemptible;
    }
    return std::nullopt;
}

} // namespace genv::core
