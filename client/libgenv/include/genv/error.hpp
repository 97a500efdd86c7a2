// SPDX-License-Identifier: LGPL-2.1-or-later
// How calls fail. Every failure is an Error with its D-Bus name, so that a program can decide by
// the name and show the text to a person.
#pragma once

#include "genv/export.hpp"

#include <stdexcept>
#include <string>

namespace genv {

/// A call that was refused or could not be made. what() is a sentence for people. It may quote text
/// chosen by other users: make it safe for a terminal before printing it.
class GENV_EXPORT Error : public std::runtime_error {
  public:
    Error(std::string name, const std::string& message);
    Error(const Error&) = default;
    Error& operator=(const Error&) = default;
    ~Error() override;

    /// The D-Bus error name, such as "dev.genv.Error.NoSuchEnvironment".
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

  private:
    std::string name_;
};

/// The service cannot be reached: there is no system bus, nothing owns the service's name, or the
/// service ended during the call.
class GENV_EXPORT ServiceUnavailable : public Error {
  public:
    using Error::Error;
    ServiceUnavailable(const ServiceUnavailable&) = default;
    ServiceUnavailable& operator=(const ServiceUnavailable&) = default;
    ~ServiceUnavailable() override;
};

} // namespace genv
