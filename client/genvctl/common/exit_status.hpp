// SPDX-License-Identifier: LGPL-2.1-or-later
// How genvctl ends: the one table from an error's name on the bus to an exit status and to what the
// person can do next, and the one exception that commands throw for failures of their own.
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
    NotAuthorised = 4,
    NoDevice = 5,
    NoService = 6,
    QuotaExceeded = 7,
};

/// Why a command ends without having done what it was asked for. The texts may hold foreign text;
/// they are made safe where they are printed.
class Failure : public std::runtime_error {
  public:
    Failure(ExitStatus status, const std::string& what, std::string hint = {})
        : std::runtime_error(what), status_(status), hint_(std::move(hint)) {}

    [[nodiscard]] ExitStatus status() const noexcept { return status_; }
    /// What to do next; may be empty.
    [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

  private:
    ExitStatus status_;
    std::string hint_;
};

/// What a failed call means to the person who ran the command.
Failure toFailure(const Error& error);

} // namespace genv::ctl
