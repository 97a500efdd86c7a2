// SPDX-License-Identifier: LGPL-2.1-or-later
// The requests of Client whose answer can take long, and that the caller can stop meanwhile.
#include "client/libgenv/client_implementation.hpp"
#include "client/libgenv/option_contents.hpp"
#include "client/libgenv/process_arguments.hpp"
#include "client/libgenv/proxies.hpp"
#include "dbus/contract/names.hpp"
#include "genv/client.hpp"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace genv {

namespace contract = dbus::contract;

namespace {

/// The rest of a timeout, for a call that has to be made again.
class RemainingTime {
  public:
    explicit RemainingTime(std::optional<std::chrono::seconds> all) : all_(all) {}

    /// Returns at least 1 s, the smallest timeout that the service accepts.
    [[nodiscard]] std::optional<std::chrono::seconds> get() const {
        if (!all_)
            return std::nullopt;
        const auto remaining = *all_ - (std::chrono::steady_clock::now() - began_);
        return std::max(std::chrono::ceil<std::chrono::seconds>(remaining),
                        std::min(*all_, std::chrono::seconds{1}));
    }

  private:
    std::optional<std::chrono::seconds> all_;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

// The progress of a parking is among the properties of its environment.
Waiting watched(Waiting waiting, const std::string& environment) {
    return waiting.setObject(client::environmentPath(environment));
}

// The service keeps the place of a request in the queue over its end, and the caller asks again. A
// request that does not wait may have been carried out.
Waiting repeatedIf(bool waits, Waiting waiting) {
    return waiting.setRepeats(waits);
}

// Returns a function that calls a method which answers with devices, and stores them in `indices`.
// A repeated call gets the rest of the timeout. The references must outlive the function.
auto deviceRequest(const char* method, const std::string& environment, const AttachOptions& options,
                   std::vector<std::uint32_t>& indices) {
    return [method, &environment, &options, &indices, remaining = RemainingTime(options.timeout())](
               client::Connection& connection, const client::WaitingCall::Answered& done) {
        AttachOptions request = options;
        request.setTimeout(remaining.get());
        auto proxy = connection.proxy(client::environmentPath(environment));
        proxy->callMethodAsync(method)
            .onInterface(client::EnvironmentProxy::INTERFACE_NAME)
            .withArguments(client::toDictionary(request))
            .uponReplyInvoke([&indices, done](dbus::compat::Failure error,
                                              const std::vector<std::uint32_t>& attached) {
                indices = attached;
                done(dbus::compat::errorOf(error));
            });
        return proxy;
    };
}

} // namespace

std::optional<std::string> Client::activate(const ActivateOptions& options,
                                            const Waiting& waiting) {
    std::string id;
    const RemainingTime remaining(options.timeout());
    const bool answered = implementation_->wait(
        repeatedIf(options.waits(), waiting),
        [&](client::Connection& connection, const client::WaitingCall::Answered& done) {
            ActivateOptions request = options;
            request.setTimeout(remaining.get());
            client::Dictionary arguments = client::toDictionary(request);
            client::namePrecisely(connection, arguments);
            auto proxy = connection.proxy(contract::managerPath);
            proxy->callMethodAsync("Activate")
                .onInterface(client::ManagerProxy::INTERFACE_NAME)
                .withArguments(arguments)
                .uponReplyInvoke([&id, done](dbus::compat::Failure error,
                                             const std::string& activated,
                                             const sdbus::ObjectPath&) {
                    id = activated;
                    done(dbus::compat::errorOf(error));
                });
            return proxy;
        },
        options.timeout());
    return answered ? std::optional(std::move(id)) : std::nullopt;
}

std::optional<std::vector<std::uint32_t>>
Client::attach(const std::string& id, const AttachOptions& options, const Waiting& waiting) {
    std::vector<std::uint32_t> indices;
    const auto send = deviceRequest("Attach", id, options, indices);
    const bool answered = Implementation::aboutEnvironment(id, [&] {
        return implementation_->wait(repeatedIf(options.waits(), waiting), send, options.timeout());
    });
    return answered ? std::optional(std::move(indices)) : std::nullopt;
}

bool Client::park(const std::string& id, const Waiting& waiting) {
    const auto send = [&](client::Connection& connection,
                          const client::WaitingCall::Answered& done) {
        auto proxy = connection.proxy(client::environmentPath(id));
        proxy->callMethodAsync("Park")
            .onInterface(client::EnvironmentProxy::INTERFACE_NAME)
            .withArguments(client::Dictionary{})
            .uponReplyInvoke(
                [done](dbus::compat::Failure error) { done(dbus::compat::errorOf(error)); });
        return proxy;
    };
    return Implementation::aboutEnvironment(
        id, [&] { return implementation_->wait(watched(waiting, id), send); });
}

std::optional<std::vector<std::uint32_t>>
Client::resume(const std::string& id, const AttachOptions& options, const Waiting& waiting) {
    std::vector<std::uint32_t> indices;
    const auto send = deviceRequest("Resume", id, options, indices);
    // The timeout is that of the wait for devices. Moving the memory takes as long as it takes.
    const bool answered = Implementation::aboutEnvironment(
        id, [&] { return implementation_->wait(watched(waiting, id), send); });
    return answered ? std::optional(std::move(indices)) : std::nullopt;
}

std::optional<Lock> Client::lock(const std::string& id, const Waiting& waiting) {
    Lock lock;
    const auto send = [&](client::Connection& connection,
                          const client::WaitingCall::Answered& done) {
        auto proxy = connection.proxy(client::environmentPath(id));
        proxy->callMethodAsync("Lock")
            .onInterface(client::EnvironmentProxy::INTERFACE_NAME)
            .uponReplyInvoke([&lock, done](dbus::compat::Failure error, sdbus::UnixFd descriptor) {
                // A descriptor received over a socket is inherited by every program started from
                // here.
                if (!error) {
                    fcntl(descriptor.get(), F_SETFD, FD_CLOEXEC);
                    lock = Lock(descriptor.release());
                }
                done(dbus::compat::errorOf(error));
            });
        return proxy;
    };
    const bool answered =
        Implementation::aboutEnvironment(id, [&] { return implementation_->wait(waiting, send); });
    return answered ? std::optional(std::move(lock)) : std::nullopt;
}

bool Client::extend(const std::string& id, std::chrono::seconds lifetime, const Waiting& waiting) {
    const ConfigurationChange change = ConfigurationChange().setLifetime(lifetime);
    const auto send = [&](client::Connection& connection,
                          const client::WaitingCall::Answered& done) {
        auto proxy = connection.proxy(client::environmentPath(id));
        proxy->callMethodAsync("Configure")
            .onInterface(client::EnvironmentProxy::INTERFACE_NAME)
            .withArguments(change.values().arguments, change.values().unset)
            .uponReplyInvoke(
                [done](dbus::compat::Failure error) { done(dbus::compat::errorOf(error)); });
        return proxy;
    };
    return Implementation::aboutEnvironment(id,
                                            [&] { return implementation_->wait(waiting, send); });
}

} // namespace genv
