// SPDX-License-Identifier: LGPL-2.1-or-later
// The exit statuses of genvctl: the only table from D-Bus error names to exit statuses and hints,
// and the only exception that commands throw for their own failures.
#pragma once

#include "genv/error.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace genv::ctl {

/// The exit statuses, as documented in the manual page.
enum class ExitStatus : int {
    Ok = 0,
    Failed = 1,
    Usage = 2,
    NotInEnvironment = 3,
    NotAuthorized = 4,
    NoDevice = 5,
    NoService = 6,
    QuotaExceeded = 7,
};

/// The reason why a command failed. The texts may contain foreign text, which is made safe when it
/// is printed.
class Failure : public std::runtime_error {
  public:
    Failure(ExitStatus status, const std::string& what, std::string hint = {})
        : std::runtime_error(what), status_(status), hint_(std::move(hint)) {}

    [[nodiscard]] ExitStatus status() const noexcept { return status_; }
    /// Returns the hint about what to do next; may be empty.
    [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

  private:
    ExitStatus status_;
    std::string hint_;
};

/// Converts the failure of a call to the failure of a command.
Failure toFailure(const Error& error);

} // namespace genv::ctl
