// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

namespace genv::core {

/// The basis of an authorization.
enum class Approval {
    Rules,  ///< polkit's rules and defaults, or none was needed
    Person, ///< somebody answered a prompt, and approved what was named in it
};

} // namespace genv::core
