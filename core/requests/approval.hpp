// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

namespace genv::core {

/// What an authorization relies on.
enum class Approval {
    Rules,  ///< polkit's rules and defaults, or none was needed
    Person, ///< somebody answered a prompt, and approved what was named in it
};

} // namespace genv::core
