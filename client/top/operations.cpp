// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/operations.hpp"

#include "client/genvctl/terminal/password_agent.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/duration.hpp"
#include "dbus/contract/names.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

namespace genv::top {

namespace {

// The service waits for the answer of a user who may have left the terminal.
class TerminalLoan {
  public:
    TerminalLoan(Mailbox& mailbox, std::string reason) : mailbox_(mailbox) {
        auto released = std::make_shared<std::promise<void>>();
        std::future<void> isReleased = released->get_future();
        mailbox_.post(TerminalWantedMessage{std::move(reason), std::move(released)});
        isReleased.get(); // throws where the program ends instead
    }
    TerminalLoan(const TerminalLoan&) = delete;
    TerminalLoan& operator=(const TerminalLoan&) = delete;
    ~TerminalLoan() { mailbox_.post(TerminalReturnedMessage{}); }

  private:
    Mailbox& mailbox_;
};

std::string gpuList(const std::vector<std::uint32_t>& gpus) {
    return fmt::format("GPU{} {}", gpus.size() == 1 ? "" : "s", ctl::joined(gpus, ", "));
}

} // namespace

void Operations::carryOut(const Request& request) {
    try {
        std::string done = std::visit([&](const auto& which) { return perform(which); }, request);
        if (!done.empty())
            postNews(std::move(done), false);
    } catch (const Error& error) {
        const ctl::Failure failure = link_.explain(error);
        postNews(failure.what(), true);
        if (failure.status() == ctl::ExitStatus::NoService)
            link_.drop();
    } catch (const std::future_error&) {
        // The program is ending.
    }
}

void Operations::postNews(std::string text, bool isBad) {
    mailbox_.post(NewsMessage{std::move(text), isBad});
}

void Operations::authorized(const std::string& what, const std::function<void(Client&)>& call) {
    Client& client = link_.client();
    try {
        return call(client);
    } catch (const Error& error) {
        if (!mayAskPassword_ ||
            error.name() != dbus::contract::error::interactiveAuthorizationRequired)
            throw;
    }
    const TerminalLoan loan(mailbox_, what + " needs an administrator's consent.");
    const ctl::PasswordAgent agent;
    client.allowInteraction(true);
    try {
        call(client);
    } catch (const Error&) {
        client.allowInteraction(false);
        throw;
    }
    client.allowInteraction(false);
}

std::string Operations::perform(const DetachRequest& request) {
    authorized(fmt::format("Detaching GPU {} from {}", request.gpu, request.environment),
               [&](Client& client) { client.detach(request.environment, {request.gpu}); });
    return fmt::format("GPU {} is detached from {}", request.gpu, request.environment);
}

std::string Operations::perform(const TerminateRequest& request) {
    authorized(fmt::format("Terminating process {}", request.pid),
               [&](Client& client) { client.terminateProcess(request.pid); });
    return fmt::format("Process {} is being terminated", request.pid);
}

std::string Operations::perform(const ExtendRequest& request) {
    authorized(fmt::format("Extending the lease of {}", request.environment),
               [&](Client& client) { client.extend(request.environment, request.lifetime); });
    return fmt::format("The lease of {} ends in {} at the earliest", request.environment,
                       core::formatDuration(request.lifetime));
}

std::string Operations::perform(const AttachGpuRequest& request) {
    authorized(fmt::format("Attaching GPU {} to {}", request.gpu, request.environment),
               [&](Client& client) {
                   client.attach(request.environment, AttachOptions().setIndices({request.gpu}));
               });
    return fmt::format("GPU {} is attached to {}", request.gpu, request.environment);
}

std::string Operations::perform(const WaitRequest& request) {
    Client& client = link_.client();
    // The service expects the total number of GPUs of the environment.
    const auto had =
        static_cast<std::uint32_t>(client.environment(request.environment).devices.size());
    const AttachOptions options =
        AttachOptions().setCount(had + request.count).setWait(true).setHoldForQuota(true);
    std::optional<std::vector<std::uint32_t>> attached;
    bool hasWaited = false;
    const Waiting waiting = Waiting().setStopDescriptor(stop_).setChanged([&] {
        if (!std::exchange(hasWaited, true))
            postNews(
                fmt::format("{} waits in the queue as long as genv top runs", request.environment),
                false);
    });
    attached = client.attach(request.environment, options, waiting);
    if (!attached)
        return {};
    return fmt::format("{} has {} now", request.environment, gpuList(*attached));
}

std::string Operations::perform(const LeaveRequest& request) {
    authorized(fmt::format("Canceling the wait of {}", request.environment),
               [&](Client& client) { client.cancelWait(request.ticket); });
    return fmt::format("The wait of {} is canceled", request.environment);
}

std::string Operations::perform(const ParkRequest& request) {
    bool isParked = false;
    authorized(fmt::format("Parking {}", request.environment), [&](Client& client) {
        isParked = client.park(request.environment, Waiting().setStopDescriptor(stop_));
    });
    return isParked ? fmt::format("{} is parked, and its GPUs are free", request.environment)
                    : std::string();
}

std::string Operations::perform(const ResumeRequest& request) {
    const auto attached = link_.client().resume(request.environment,
                                                AttachOptions().setWait(true).setHoldForQuota(true),
                                                Waiting().setStopDescriptor(stop_));
    return attached ? fmt::format("{} goes on on {}", request.environment, gpuList(*attached))
                    : std::string();
}

} // namespace genv::top
