// SPDX-License-Identifier: LGPL-2.1-or-later
// The only error type of genv-jobs. A request that is refused throws it before anything changes;
// the daemon turns it into a D-Bus error in one place. The text is shown to the user: what was
// wrong and what was expected. It quotes foreign text only through core::escaped().
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace genv::jobs {

enum class JobErrorCode {
    NoSuchJob,
    InvalidArgs,
    LimitsExceeded,
    NotSupported,
    StorageFailed, ///< the database could not be read or written; nothing changed
};

class JobError : public std::runtime_error {
  public:
    JobError(JobErrorCode code, const std::string& message)
        : std::runtime_error(message), code_(code) {}

    [[nodiscard]] JobErrorCode code() const noexcept { return code_; }

  private:
    JobErrorCode code_;
};

/// Throws an JobError with a formatted message.
template <typename... Args>
[[noreturn]] void fail(JobErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
    throw JobError(code, fmt::format(format, std::forward<Args>(args)...));
}

} // namespace genv::jobs
