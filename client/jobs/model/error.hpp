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

enum class ErrorCode {
    NoSuchJob,
    InvalidArgs,
    LimitsExceeded,
    NotSupported,
    StorageFailed, ///< the database could not be read or written; nothing changed
};

class Error : public std::runtime_error {
  public:
    Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

    [[nodiscard]] ErrorCode code() const noexcept { return code_; }

  private:
    ErrorCode code_;
};

/// Throws an Error with a formatted message.
template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
    throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

} // namespace genv::jobs
