// SPDX-License-Identifier: LGPL-2.1-or-later
// A connection of one thread to the service of this machine or another one.
#pragma once

#include "client/genvctl/common/exit_status.hpp"
#include "client/remote/ssh/session.hpp"
#include "genv/client.hpp"

#include <memory>
#include <optional>

namespace genv::top {

class ServiceConnection {
  public:
    explicit ServiceConnection(std::optional<remote::Host> host) : host_(std::move(host)) {}

    /// Connects if there is no connection yet. Throws Error.
    Client& client();
    /// Closes the connection; the next call connects again.
    void drop();
    /// Returns the message about a failed call.
    ctl::Failure explain(const Error& error);
    [[nodiscard]] bool isRemote() const noexcept { return host_.has_value(); }

  private:
    std::optional<remote::Host> host_;
    std::unique_ptr<remote::Session> session_;
    std::optional<Client> client_; ///< last: it goes before its session
};

} // namespace genv::top
