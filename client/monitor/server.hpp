// SPDX-License-Identifier: LGPL-2.1-or-later
// The web server: GET /metrics on one address, under the names of this machine, and nothing else.
// It uses libmicrohttpd and not the server of prometheus-cpp, which in Debian does not support IPv6
// and cannot report why it failed to listen.
#pragma once

#include "client/monitor/host_names.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

struct MHD_Daemon;

namespace genv::monitor {

class Server {
  public:
    /// Returns the text of a scrape. It is called by several threads at once. It may throw
    /// std::exception; the client then gets an internal error without the message.
    using Scrape = std::function<std::string()>;

    /// Listens on an IPv4 or IPv6 address; port 0 selects a free port. Clients wait until start()
    /// is called. Throws std::runtime_error with the reason of a failure.
    Server(const std::string& address, std::uint16_t port);
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    /// Waits for running scrapes to finish.
    ~Server();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    /// Starts answering requests without a Host header, and those to an address, to localhost, to a
    /// name of this machine, or to one of `names`. Throws std::runtime_error.
    void start(Scrape scrape, const std::vector<std::string>& names = {});

    struct Served; ///< the data used by the daemon's threads

  private:
    struct Stopped {
        void operator()(MHD_Daemon* daemon) const noexcept;
    };

    int socket_;
    std::uint16_t port_ = 0;
    std::unique_ptr<Served> served_;
    std::unique_ptr<MHD_Daemon, Stopped> daemon_; ///< owns the socket once it is created
};

/// Returns an address and port as they appear in a URL.
std::string endpoint(const std::string& address, std::uint16_t port);

} // namespace genv::monitor
