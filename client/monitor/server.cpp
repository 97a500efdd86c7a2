// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/server.hpp"

#include "client/monitor/connections.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <microhttpd.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace genv::monitor {

struct Server::Served {
    Served(Scrape how, const std::vector<std::string>& hosts, std::size_t max)
        : scrape(std::move(how)), names(hosts), connections(max) {}

    Scrape scrape;
    HostNames names;
    Connections connections;
};

namespace {

// Prometheus needs one connection. The others are for users' browsers, and as a reserve against
// clients that send no request.
constexpr unsigned maxConnections = 32;
// libmicrohttpd accepts more connections, so that a closed connection may take some time to end.
constexpr unsigned maxAccepted = 2 * maxConnections;
constexpr unsigned idleSeconds = 10;
constexpr std::size_t connectionMemory = 32 * std::size_t{1024};

constexpr const char* textType = "text/plain; charset=utf-8";
constexpr const char* metricsType = "text/plain; version=0.0.4; charset=utf-8";

/// An IPv4 or IPv6 address with its length, in the form that bind() takes.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;

    [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

SocketAddress toSocketAddress(const std::string& address, std::uint16_t port) {
    SocketAddress result;
    sockaddr_in four{};
    sockaddr_in6 six{};
    if (inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1) {
        four.sin_family = AF_INET;
        four.sin_port = htons(port);
        std::memcpy(&result.storage, &four, sizeof four);
        result.length = sizeof four;
    } else if (inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) == 1) {
        six.sin6_family = AF_INET6;
        six.sin6_port = htons(port);
        std::memcpy(&result.storage, &six, sizeof six);
        result.length = sizeof six;
    } else {
        throw std::runtime_error("invalid listening address: expected an IPv4 or IPv6 address");
    }
    return result;
}

std::uint16_t portOf(int descriptor) {
    SocketAddress bound;
    getsockname(descriptor, bound.get(), &bound.length);
    // The port is at the same offset for both families.
    sockaddr_in four{};
    std::memcpy(&four, &bound.storage, sizeof four);
    return ntohs(four.sin_port);
}

MHD_Result reply(MHD_Connection* connection, unsigned status, std::string_view text,
                 const char* type) {
    // The library does not modify a buffer that it is told to copy.
    MHD_Response* response = MHD_create_response_from_buffer(
        text.size(), const_cast<char*>(text.data()), MHD_RESPMEM_MUST_COPY);
    if (response == nullptr)
        return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    const MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

// HTTP/1.0 has no Host header, and browsers always send one.
bool isForThisMachine(MHD_Connection* connection, HostNames& names) {
    struct Judged {
        HostNames& names;
        bool isAccepted = true;
    } judged{names};
    const auto judge = [](void* data, MHD_ValueKind /*kind*/, const char* header,
                          const char* value) noexcept -> MHD_Result {
        auto& state = *static_cast<Judged*>(data);
        try {
            if (strcasecmp(header, MHD_HTTP_HEADER_HOST) == 0)
                state.isAccepted = value != nullptr && state.names.accept(value);
        } catch (const std::exception&) { // such as no memory
            state.isAccepted = false;
        }
        return state.isAccepted ? MHD_YES : MHD_NO; // no ends the loop
    };
    MHD_get_connection_values(connection, MHD_HEADER_KIND, judge, &judged);
    return judged.isAccepted;
}

MHD_Result answer(void* daemon, MHD_Connection* connection, const char* path, const char* method,
                  const char* /*version*/, const char* /*body*/, std::size_t* bodySize,
                  void** /*state*/) noexcept {
    auto& [scrape, names, connections] = *static_cast<Server::Served*>(daemon);
    connections.beginRequest(connection);
    if (*bodySize != 0) // requests with a body are refused
        return MHD_NO;
    if (!isForThisMachine(connection, names))
        return reply(connection, MHD_HTTP_MISDIRECTED_REQUEST,
                     "Unknown host name: use an address of this machine, its name, or a name given "
                     "to the exporter with --host-name.\n",
                     textType);
    if (std::string_view(path) != "/metrics")
        return reply(connection, MHD_HTTP_NOT_FOUND, "The metrics are under /metrics.\n", textType);
    if (std::string_view(method) != MHD_HTTP_METHOD_GET &&
        std::string_view(method) != MHD_HTTP_METHOD_HEAD)
        return reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET is supported.\n", textType);
    try {
        return reply(connection, MHD_HTTP_OK, scrape(), metricsType);
    } catch (const std::exception&) { // such as no memory; no exception may pass through C
        return reply(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "", textType);
    }
}

} // namespace

std::string endpoint(const std::string& address, std::uint16_t port) {
    const bool isSix = address.find(':') != std::string::npos;
    return isSix ? fmt::format("[{}]:{}", address, port) : fmt::format("{}:{}", address, port);
}

Server::Server(const std::string& address, std::uint16_t port) {
    SocketAddress where = toSocketAddress(address, port);
    socket_ = socket(where.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    if (socket_ < 0 || setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(socket_, where.get(), where.length) < 0 || listen(socket_, SOMAXCONN) < 0) {
        const int error = errno;
        if (socket_ >= 0)
            close(socket_);
        throw std::runtime_error(fmt::format(
            "cannot listen on {}: {}; choose another port or address (--port, --listen)",
            endpoint(address, port), std::strerror(error)));
    }
    port_ = portOf(socket_);
}

Server::~Server() {
    if (!daemon_)
        close(socket_);
}

void Server::start(Scrape scrape, const std::vector<std::string>& names) {
    served_ = std::make_unique<Served>(std::move(scrape), names, maxConnections);
    daemon_.reset(MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL |
            MHD_USE_ITC,
        0, nullptr, nullptr, answer, served_.get(), MHD_OPTION_LISTEN_SOCKET, socket_,
        MHD_OPTION_CONNECTION_LIMIT, maxAccepted, MHD_OPTION_CONNECTION_TIMEOUT, idleSeconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, connectionMemory, MHD_OPTION_NOTIFY_CONNECTION,
        Connections::onConnection, &served_->connections, MHD_OPTION_NOTIFY_COMPLETED,
        Connections::onRequestOver, &served_->connections, MHD_OPTION_END));
    if (!daemon_)
        throw std::runtime_error("cannot start the web server");
}

void Server::Stopped::operator()(MHD_Daemon* daemon) const noexcept {
    MHD_stop_daemon(daemon);
}

} // namespace genv::monitor
