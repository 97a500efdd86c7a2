// SPDX-License-Identifier: LGPL-2.1-or-later
// Who calls. The bus itself says who is behind a unique name, and never /proc, which can be raced;
// a unique name is one connection for ever, so what the bus said is kept until the connection goes.
#pragma once

#include "core/process.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <optional>
#include <string>
#include <unordered_map>

struct sd_bus_message;

namespace genv::dbus {

/// The sender of a call.
struct Caller {
    std::string busName;      ///< unique, such as :1.42
    core::Uid uid = 0;        ///< effective uid when it connected
    core::Pid pid = 0;        ///< pid when it connected; 0 when the bus does not know
    bool interactive = false; ///< the call allows asking for a password
};

class Callers {
  public:
    /// The sender of a message. Throws core::Error(AccessDenied) when the sender is gone.
    Caller of(const sdbus::Message& message);
    Caller of(sd_bus_message* message);

    /// Who a connection is, where that is known already.
    [[nodiscard]] std::optional<core::Uid> known(const std::string& busName) const;
    /// Reads the bus's answer to GetConnectionCredentials. Throws core::Error(AccessDenied) when it
    /// does not say.
    core::Uid learn(const std::string& busName, sd_bus_message* credentials);

    /// Forgets a connection that is gone.
    void left(const std::string& busName) { known_.erase(busName); }

  private:
    struct Credentials {
        core::Uid uid = 0;
        core::Pid pid = 0;
    };
    static Credentials ask(sd_bus_message* message);
    const Credentials& keep(const std::string& busName, Credentials credentials);

    std::unordered_map<std::string, Credentials> known_;
};

} // namespace genv::dbus
