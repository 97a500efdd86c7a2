// SPDX-License-Identifier: LGPL-2.1-or-later
// Why no call reached genv-jobs, in words, with what to do.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace genv::jobs {

/// No call can reach genv-jobs, or it ended during one. Nothing else is thrown for that. Texts may
/// quote what a daemon said: make them safe for a terminal.
class Unavailable : public std::runtime_error {
  public:
    Unavailable(const std::string& what, std::string hint)
        : std::runtime_error(what), hint_(std::move(hint)) {}

    [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

  private:
    std::string hint_;
};

/// What of the machine decides why there is no bus of the user.
struct UserBusPlaces {
    bool isBooted = false;         ///< systemd runs this machine or container
    bool hasRuntimeFolder = false; ///< /run/user/UID exists
    std::string user;              ///< name, to be typed; or the uid
};
UserBusPlaces userBusPlaces();

/// There is no bus of the user at this address; `why` is the error.
Unavailable noUserBus(const std::string& address, const std::string& why,
                      const UserBusPlaces& places);

/// Whether this D-Bus error says that genv-jobs cannot be reached.
bool meansUnavailable(const std::string& error);
/// A call failed with such an error.
Unavailable notReached(const std::string& error, const std::string& message);

} // namespace genv::jobs
