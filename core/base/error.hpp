// SPDX-License-Identifier: LGPL-2.1-or-later
// The only error type inside genv. A request that is refused throws it before anything changes. The
// code maps to a D-Bus error name in one place, dbus/calls/errors.cpp. The text is shown to the
// user, so it names the fault and the expected value. It quotes foreign text only through
// escaped().
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace genv::core {

/// The reason why a request was refused. Each value has one D-Bus name (dbus/calls/errors.cpp).
enum class ErrorCode {
    NoSuchEnvironment,
    NoSuchDevice,
    NoSuchProcess,
    DeviceUnavailable,
    NotEnoughDevices,
    AlreadyExists,
    QuotaExceeded,
    NotAttached,
    NoSuchWait,
    Busy,
    AccessDenied,
    InteractiveAuthorizationRequired,
    InvalidArgs,
    LimitsExceeded,
    NotSupported,
    CannotPark, ///< with the problem and the remedy
    NotParked,
    NoHostMemory, ///< host memory cannot take the memory of the environment's processes
    Timeout,
    StorageFailed,   ///< the state could not be written; nothing changed
    SlurmFailed,     ///< Slurm refused a request or did not answer
    IsolationFailed, ///< the kernel did not accept a change of the access to a GPU; nothing changed
    Internal,        ///< a bug in the service; clients never see the text
};

/// A refused request.
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

} // namespace genv::core
