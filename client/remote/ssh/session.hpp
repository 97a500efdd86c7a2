// SPDX-License-Identifier: LGPL-2.1-or-later
// The bus of another machine. ssh runs systemd-stdio-bridge there and forwards its bytes, as for
// "systemctl -H". The service sees a client of the remote user, and polkit decides there; no
// password can be entered from here. Failures of the connection are reported with ssh's own
// message.
#pragma once

#include "client/remote/ssh/ssh.hpp"
#include "genv/client.hpp"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::remote {

/// The reason why a host could not be used.
enum class Trouble {
    Unreachable, ///< ssh could not connect or log in
    TimedOut,    ///< its deadline expired
    Cancelled,
    NoService,     ///< reachable, but without genv, its service or a bus
    NotAuthorized, ///< polkit on the host denied access
    Failed,        ///< any other answer of the host
};

/// A failure of one host. what() is one line without the host's name, safe to print. hint() is the
/// next step; may be empty.
class HostFailure : public std::runtime_error {
  public:
    HostFailure(Trouble trouble, const std::string& what, std::string hint = {})
        : std::runtime_error(what), trouble_(trouble), hint_(std::move(hint)) {}

    [[nodiscard]] Trouble trouble() const noexcept { return trouble_; }
    [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

  private:
    Trouble trouble_;
    std::string hint_;
};

/// For output over ssh that is not the answer of the command there.
inline constexpr const char* noisyShellHint =
    "A start file of the shell there may print something.";

/// Returns the failure of an ssh that ended with status 255 or by a signal. `messages` is its error
/// output.
HostFailure sshFailure(const Host& host, const SshBounds& bounds, const SshChild& child,
                       std::string_view messages);

/// Connections to the bus of one host. For use by one thread; must outlive the clients created from
/// it. Each connection has its own ssh process, which ends with the session.
class Session {
  public:
    explicit Session(Host host, SshBounds bounds = {});
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session();

    [[nodiscard]] const Host& host() const noexcept { return host_; }

    /// Connects. Throws genv::Error, which explain() converts to a HostFailure.
    Client connect();

    /// Runs a function that makes calls on a client of this session, `call(client)`. Converts
    /// genv::Error to HostFailure.
    template <typename Call>
    auto use(Call&& call) {
        try {
            Client client = connect();
            return call(client);
        } catch (const Error& error) {
            throw explain(error);
        }
    }

    /// Returns the meaning of a failed call on a client of this session. If ssh has ended, it
    /// contains ssh's message.
    HostFailure explain(const Error& error);

  private:
    [[nodiscard]] std::string nextAddress();
    [[nodiscard]] HostFailure explain(SshChild& child);

    Host host_;
    SshBounds bounds_;
    std::vector<std::unique_ptr<SshChild>> children_;
    bool answered_ = false; ///< whether a connection has been established
};

} // namespace genv::remote
