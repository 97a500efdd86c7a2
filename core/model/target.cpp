// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/model/target.hpp"

namespace genv::core {

Target targetOf(const EnvironmentRecord& environment) {
    Target target;
    target.environment = environment.id;
    target.owner = environment.uid;
    target.ownerName = environment.user;
    return target;
}

} // namespace genv::core
