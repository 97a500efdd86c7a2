// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/remote/ssh/session.hpp"

#include "core/base/text.hpp"
#include "dbus/contract/names.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <string_view>
#include <system_error>

namespace genv::remote {

namespace {

namespace names = dbus::contract::error;

constexpr const char* bridge = "systemd-stdio-bridge";
// How long to wait for the error message of an ssh whose connection has failed.
constexpr std::chrono::milliseconds lastWords{2000};

// Listens on an abstract socket with a name chosen by the kernel. The ssh child accepts connections
// from this process only.
std::pair<int, std::string> listen() {
    const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socklen_t size = sizeof(sa_family_t);
    if (descriptor < 0 || bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) < 0 ||
        ::listen(descriptor, 1) < 0)
        throw std::system_error(errno, std::generic_category(), "a socket for ssh");
    size = sizeof address;
    getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
    const std::size_t begin = offsetof(sockaddr_un, sun_path) + 1; // the first byte is zero
    return {descriptor, std::string(address.sun_path + 1, size - begin)};
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

} // namespace

HostFailure sshFailure(const Host& host, const SshBounds& bounds, const SshChild& child,
                       std::string_view messages) {
    if (bounds.cancellation != nullptr && bounds.cancellation->isCancelled())
        return {Trouble::Cancelled, "given up"};
    if (child.timedOut())
        return {Trouble::TimedOut,
                fmt::format("no answer within {:g} s",
                            std::chrono::duration<double>(*bounds.deadline).count()),
                "\"genvctl remote --timeout\" gives it more time."};
    std::string message = lastLine(messages);
    if (message.empty())
        message = "the connection has ended";
    if (contains(message, "Permission denied"))
        return {Trouble::Unreachable, message,
                fmt::format("ssh asks for no password here. Give the host a key with \"ssh-copy-id "
                            "{}\", or load yours with ssh-add.",
                            host.name)};
    if (contains(message, "Host key verification failed"))
        return {
            Trouble::Unreachable, message,
            fmt::format("Connect once with \"ssh {}\" to see its key and accept it.", host.name)};
    return {Trouble::Unreachable, message};
}

Session::Session(Host host, SshBounds bounds) : host_(std::move(host)), bounds_(bounds) {}

Session::~Session() = default;

Client Session::connect() {
    Client client([this] { return nextAddress(); });
    answered_ = true;
    return client;
}

std::string Session::nextAddress() {
    const auto [number, name] = listen();
    const client::Descriptor socket(number);
    children_.push_back(std::make_unique<SshChild>(quietSsh(host_, bridge), socket.get(),
                                                   socket.get(), bounds_, true));
    return "unix:abstract=" + name;
}

HostFailure Session::explain(const Error& error) {
    const std::string& name = error.name();
    const bool unavailable = dynamic_cast<const ServiceUnavailable*>(&error) != nullptr;
    // For the connection itself, this error means that the received bytes were not the greeting of
    // a bus.
    if (unavailable && name == names::accessDenied)
        return {Trouble::NoService, "the other side is not a D-Bus bus",
                fmt::format("A start-up file of the shell there that prints something gets in the "
                            "way: \"ssh {} true\" is to print nothing.",
                            host_.name)};
    if (name == names::accessDenied || name == names::interactiveAuthorizationRequired)
        return {
            Trouble::NotAuthorized, core::printable(error.what()),
            fmt::format(
                "Nobody is asked for a password there. Log in as root (root@{}; \"-l root\" for "
                "all hosts), or let its administrator allow it with a polkit rule.",
                host_.name)};
    if (!unavailable)
        return {Trouble::Failed, core::printable(error.what())};
    // Finds a connection that has failed. All connections use the same path and fail together.
    for (const auto& child : children_) {
        if (!child->endsWithin(std::chrono::milliseconds{0}))
            continue;
        return explain(*child);
    }
    // In these cases, the bus is running and has replied. In all others, the connection has failed,
    // and ssh is about to print the reason.
    if (name == "org.freedesktop.DBus.Error.ServiceUnknown" ||
        name == "org.freedesktop.DBus.Error.NameHasNoOwner" || children_.empty())
        return {Trouble::NoService, "it has no service genvd"};
    // systemd on the host has reported why the service is not running.
    if (name.starts_with("org.freedesktop.DBus.Error.Spawn."))
        return {Trouble::NoService, core::printable(error.what())};
    if (children_.back()->endsWithin(lastWords))
        return explain(*children_.back());
    if (!answered_)
        return {Trouble::TimedOut, "it does not answer",
                "\"ConnectTimeout\" in ~/.ssh/config makes ssh give up sooner."};
    return {Trouble::NoService,
            fmt::format("its service genvd does not answer: {}", core::printable(error.what()))};
}

HostFailure Session::explain(SshChild& child) {
    const int status = child.wait();
    if (status == sshFailed || status > 128)
        return sshFailure(host_, bounds_, child, child.messages());
    const std::string message = lastLine(child.messages());
    return {Trouble::NoService,
            fmt::format("its bus cannot be reached: {}",
                        message.empty() ? "systemd-stdio-bridge ended" : message)};
}

} // namespace genv::remote
