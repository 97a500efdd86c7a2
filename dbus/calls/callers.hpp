// SPDX-License-Identifier: LGPL-2.1-or-later
// The callers on the bus. The bus daemon reports who owns a unique name; /proc is not used for
// this, since it is subject to races. A unique name always refers to the same connection, so the
// credentials are cached until the connection closes.
#pragma once

#include "core/base/process.hpp"
#include "core/model/reason.hpp"
#include "dbus/contract/raw_bus.hpp"

#include <optional>
#include <string>
#include <unordered_map>

namespace genv::dbus {

/// The sender of a call.
struct Caller {
    std::string busName;      ///< unique name, such as :1.42
    core::Uid uid = 0;        ///< effective uid when it connected
    core::Pid pid = 0;        ///< PID when it connected; 0 if the bus does not know it
    bool interactive = false; ///< the call allows a password prompt
    /// The user who logged in before acting as root; known only for calls that change something.
    std::optional<core::Uid> login = {};

    [[nodiscard]] core::Actor actor() const { return {uid, login}; }
};

class Callers {
  public:
    /// Returns the sender of a call. Throws core::Error(AccessDenied) if the sender has
    /// disconnected.
    Caller of(const raw::Message& call);

    /// Returns the uid of a connection, if it is cached.
    [[nodiscard]] std::optional<core::Uid> known(const std::string& busName) const;
    /// Caches the credentials that the bus reported for a connection. Throws
    /// core::Error(AccessDenied) if it reported none.
    core::Uid learn(const std::string& busName, const std::optional<raw::Credentials>& credentials);

    /// Returns the PID of a connection of root whose login user was not looked up yet.
    [[nodiscard]] std::optional<core::Pid> pidToLookUp(const std::string& busName) const;
    /// Caches the login user of the session in which a connection of root is.
    void learnLogin(const std::string& busName, std::optional<core::Uid> login);

    /// Returns whether the process of a connection is in the PID namespace of the service, if that
    /// is cached.
    [[nodiscard]] std::optional<bool> usesSamePids(const std::string& busName) const;
    /// Caches that.
    void learnPids(const std::string& busName, bool usesSamePids);

    /// Forgets a closed connection.
    void onDisconnected(const std::string& busName) { known_.erase(busName); }

  private:
    struct Known {
        raw::Credentials credentials;
        std::optional<core::Uid> login = {};
        bool isLookedUp = false; ///< the login user was looked up
        std::optional<bool> usesSamePids = {};
    };
    const Known& keep(const std::string& busName,
                      const std::optional<raw::Credentials>& credentials);

    std::unordered_map<std::string, Known> known_;
};

} // namespace genv::dbus
