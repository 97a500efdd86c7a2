// SPDX-License-Identifier: LGPL-2.1-or-later
// The bus of another machine: ssh runs systemd-stdio-bridge there and passes its bytes on, as for
// "systemctl -H". The service sees a client of the far user, and polkit decides there; nobody types
// a password for it here. What goes wrong on the way is told as ssh says it.
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

/// Why a host could not be used.
enum class Trouble {
    Unreachable, ///< ssh could not connect or log in
    TimedOut,    ///< its deadline was over
    Cancelled,
    NoService,     ///< it was reached, and there is no genv (or no service, or no bus)
    NotAuthorised, ///< the far polkit said no
    Failed,        ///< anything else that the far side answered
};

/// A failure of one host. what() is one line without the host's name, safe to print: what
/// happened; hint() what to do next, may be empty.
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

/// What an ssh that failed, by status 255 or a signal, means. `messages` is what it said.
HostFailure sshFailure(const Host& host, const SshBounds& bounds, const SshChild& child,
                       std::string_view messages);

/// Connections to one host's bus. Used by one thread; outlives the clients made from it. Every
/// connection is an ssh of its own, which ends with the session.
class Session {
  public:
    explicit Session(Host host, SshBounds bounds = {});
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session();

    [[nodiscard]] const Host& host() const noexcept { return host_; }

    /// Connects. Throws genv::Error; explain() tells what became of it.
    Client connect();

    /// Runs what makes calls on a client of this session; `call(client)`. Throws HostFailure
    /// where they throw genv::Error.
    template <typename Call>
    auto use(Call&& call) {
        try {
            Client client = connect();
            return call(client);
        } catch (const Error& error) {
            throw explain(error);
        }
    }

    /// What a failed call on a client of this session means: where ssh has ended, what ssh said.
    HostFailure explain(const Error& error);

  private:
    [[nodiscard]] std::string nextAddress();
    [[nodiscard]] HostFailure explain(SshChild& child);

    Host host_;
    SshBounds bounds_;
    std::vector<std::unique_ptr<SshChild>> children_;
    bool answered_ = false; ///< there has been a connection
};

} // namespace genv::remote
