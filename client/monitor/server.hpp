// SPDX-License-Identifier: LGPL-2.1-or-later
// The web server: GET /metrics on one address, and nothing else. libmicrohttpd and not the server
// of prometheus-cpp, which on Debian knows no IPv6 and cannot say why it could not listen.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

struct MHD_Daemon;

namespace genv::monitor {

class Server {
  public:
    /// Gives the text of a scrape; called by several threads at once. May throw std::exceptions,
    /// which the client sees as an internal error without their text.
    using Scrape = std::function<std::string()>;

    /// Listens on an IPv4 or IPv6 address; port 0 is one that is free. Clients wait until start().
    /// Throws std::runtime_error that says why it cannot.
    Server(const std::string& address, std::uint16_t port);
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    /// Waits for the scrapes that are being answered.
    ~Server();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    /// Begins to answer. Throws std::runtime_error.
    void start(Scrape scrape);

    struct Served; ///< what the daemon's threads use

  private:
    struct Stopped {
        void operator()(MHD_Daemon* daemon) const noexcept;
    };

    int socket_;
    std::uint16_t port_ = 0;
    std::unique_ptr<Served> served_;
    std::unique_ptr<MHD_Daemon, Stopped> daemon_; ///< owns the socket once it is there
};

/// An address and port as they stand in a URL.
std::string endpoint(const std::string& address, std::uint16_t port);

} // namespace genv::monitor
