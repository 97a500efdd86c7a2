// SPDX-License-Identifier: LGPL-2.1-or-later
// The texts of the attempts' files: a line with the format's version, then fields that end in a 0
// byte, then "end". So a field holds any byte but 0, and a text that was cut is recognized.
//
// genv-jobs runs on while the package is upgraded, and starts the new genv-job: it must read what
// the genv-jobs of each earlier version writes, and write what that one reads.
#pragma once

#include "client/jobs/files/attempt.hpp"

#include <string>
#include <string_view>

namespace genv::jobs {

/// Throws JobError (StorageFailed) if a text holds a 0 byte.
[[nodiscard]] std::string encode(const AttemptOrder& order);
[[nodiscard]] std::string encode(const AttemptEnding& ending);

/// The reverse. Throw JobError (StorageFailed) for anything that encode() does not write.
[[nodiscard]] AttemptOrder decodeOrder(std::string_view text);
[[nodiscard]] AttemptEnding decodeEnding(std::string_view text);

} // namespace genv::jobs
