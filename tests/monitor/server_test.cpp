// SPDX-License-Identifier: LGPL-2.1-or-later
// Clients that only connect to the exporter cannot block other clients.
#include "client/monitor/server.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

namespace genv::tests {
namespace {

/// A connection of a local user to the exporter.
class Connection {
  public:
    explicit Connection(std::uint16_t port)
        : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    Connection(Connection&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() {
        if (socket_ >= 0)
            ::close(socket_);
    }

    /// By now the server may have closed the connection in favour of another one.
    void send(const std::string& text) const {
        static_cast<void>(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL));
    }
    /// Returns everything until the server closes the connection.
    [[nodiscard]] std::string readAll() const {
        std::string all;
        std::array<char, 4096> buffer{};
        for (ssize_t count = 0; (count = ::recv(socket_, buffer.data(), buffer.size(), 0)) > 0;)
            all.append(buffer.data(), static_cast<std::size_t>(count));
        return all;
    }

  private:
    int socket_;
};

std::string scrape(std::uint16_t port) {
    const Connection prometheus(port);
    prometheus.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    return prometheus.readAll();
}

/// Scrapes repeatedly, as Prometheus does: on a busy machine it takes time until a connection is
/// closed in favour of another one.
bool isScraped(std::uint16_t port) {
    for (int attempt = 0; attempt < 100; ++attempt) {
        if (scrape(port).find("genv_up 1") != std::string::npos)
            return true;
    }
    return false;
}

class Exporter : public ::testing::Test {
  protected:
    Exporter() {
        server.start([] { return std::string("genv_up 1\n"); });
    }

    monitor::Server server{"127.0.0.1", 0};
};

TEST_F(Exporter, IsScrapedWhateverNumberOfConnectionsIsIdle) {
    std::vector<Connection> idle;
    for (int i = 0; i < 100; ++i) {
        idle.emplace_back(server.port());
        EXPECT_TRUE(isScraped(server.port())) << "with " << i + 1 << " idle connections";
    }
    EXPECT_EQ(idle.front().readAll(), "") << "the first ones were ended for others";
}

TEST_F(Exporter, IsScrapedWhileRequestsAreNotCompleted) {
    std::vector<Connection> slow;
    for (int i = 0; i < 100; ++i) {
        slow.emplace_back(server.port());
        slow.back().send("GET /metrics HTTP/1.1\r\nX-Slow: ");
    }
    EXPECT_TRUE(isScraped(server.port()));
}

/// Returns the status line's number.
std::string statusOf(std::uint16_t port, const std::string& request) {
    const Connection browser(port);
    browser.send(request);
    return browser.readAll().substr(std::string("HTTP/1.1 ").size(), 3);
}

TEST_F(Exporter, AnswersNoRequestToAForeignName) {
    const auto get = [&](const std::string& headers) {
        return statusOf(server.port(),
                        "GET /metrics HTTP/1.1\r\n" + headers + "Connection: close\r\n\r\n");
    };
    EXPECT_EQ(get("Host: localhost:14368\r\n"), "200");
    EXPECT_EQ(get("host: 127.0.0.1\r\n"), "200");
    EXPECT_EQ(get("Host: rebound.example\r\n"), "421");
    EXPECT_EQ(get("HOST: rebound.example:14368\r\n"), "421");
    EXPECT_EQ(get("Host: localhost\r\nHost: rebound.example\r\n"), "421");
    EXPECT_EQ(get("Host: rebound.example\r\nHost: localhost\r\n"), "421");
    EXPECT_EQ(get("Host: \r\n"), "421");
}

TEST_F(Exporter, AnswersRequestsWithoutAHost) {
    EXPECT_EQ(statusOf(server.port(), "GET /metrics HTTP/1.0\r\n\r\n"), "200");
}

} // namespace
} // namespace genv::tests
