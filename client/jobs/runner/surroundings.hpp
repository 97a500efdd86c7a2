// SPDX-License-Identifier: LGPL-2.1-or-later
// The variables of an attempt: those of the submission, byte for byte, and those of its
// environment.
#pragma once

#include "client/jobs/files/attempt.hpp"

#include <string>
#include <string_view>

namespace genv {
class Client;
}

namespace genv::jobs {

/// Whether a variable is that of an environment, so that the one of the submitting shell is left
/// out.
[[nodiscard]] bool isOfEnvironment(std::string_view variable);

/// Replaces the variables of this process by those of the order and of its environment. Throws
/// Error of libgenv.
void setVariables(Client& client, const AttemptName& attempt, const AttemptOrder& order);

} // namespace genv::jobs
