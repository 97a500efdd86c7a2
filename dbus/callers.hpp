// SPDX-License-Identifier: LGPL-2.1-or-later
// Who calls. The bus itself says who is behind a unique name, and never /proc, which can be raced;
// a unique name is one connection for ever, so what the bus said is kept until the connection goes.
#pragma once

#include "core/process.hpp"
#include "core/reason.hpp"
#include "dbus/contract/raw_bus.hpp"

#include <optional>
#include <string>
#include <unordered_map>

namespace genv::dbus {

/// The sender of a call.
struct Caller {
    std::string busName;      ///< unique, such as :1.42
    core::Uid uid = 0;        ///< effective uid when it connected
    core::Pid pid = 0;        ///< pid when it connected; 0 when the bus does not know
    bool interactive = false; ///< the call allows asking for a password
    /// Who logged in before acting as root; known only of a call that changes something.
    std::optional<core::Uid> login = {};

    [[nodiscard]] core::Actor actor() const { return {uid, login}; }
};

class Callers {
  public:
    /// The sender of a call. Throws core::Error(AccessDenied) when the sender is gone.
    Caller of(const raw::Message& call);

    /// Who a connection is, where that is known already.
    [[nodiscard]] std::optional<core::Uid> known(const std::string& busName) const;
    /// Keeps what the bus said of a connection. Throws core::Error(AccessDenied) when it said
    /// nothing.
    core::Uid learn(const std::string& busName, const std::optional<raw::Credentials>& credentials);

    /// The pid of a connection of root's of which nobody has said who logged in.
    [[nodiscard]] std::optional<core::Pid> pidToLookUp(const std::string& busName) const;
    /// Keeps who logged in, in whose session a connection of root's is.
    void learnLogin(const std::string& busName, std::optional<core::Uid> login);

    /// Forgets a connection that is gone.
    void left(const std::string& busName) { known_.erase(busName); }

  private:
    struct Known {
        raw::Credentials credentials;
        std::optional<core::Uid> login = {};
        bool isLookedUp = false; ///< who logged in
    };
    const Known& keep(const std::string& busName,
                      const std::optional<raw::Credentials>& credentials);

    std::unordered_map<std::string, Known> known_;
};

} // namespace genv::dbus
