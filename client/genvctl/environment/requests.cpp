// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/environment/requests.hpp"

#include "client/genvctl/common/found.hpp"
#include "client/genvctl/common/stop_signals.hpp"
#include "client/genvctl/environment/turn.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace genv::ctl {

namespace {

constexpr const char* interruptedText = "Interrupted while waiting; nothing was attached";

std::string grantedText(const std::vector<std::uint32_t>& devices) {
    return core::nameGpus(devices) + " attached";
}

// Returns the environment of this process, or of the shell that started it.
std::optional<std::string> environmentOfCaller(Client& client) {
    return foundOrNothing([&] { return client.environmentOfProcess(0); });
}

bool isListed(const EnvironmentEntry& environment, std::uint32_t pid) {
    return std::ranges::find(environment.processes, pid) != environment.processes.end();
}

// Recognises the environment that was requested for a process. In a container, the service lists
// the process by another PID, and the environment is the caller's.
class RequestedFor {
  public:
    RequestedFor(Client& client, std::uint32_t pid) : client_(client), pid_(pid) {}

    bool operator()(const EnvironmentEntry& environment) {
        if (isListed(environment, pid_))
            return true;
        if (!ofCaller_)
            ofCaller_ = environmentOfCaller(client_);
        return environment.id == ofCaller_;
    }

  private:
    Client& client_;
    std::uint32_t pid_;
    std::optional<std::string> ofCaller_; ///< once it has one
};

void leave(Client& client, const std::string& id, std::uint32_t pid) {
    try {
        client.removeProcess(id, pid);
    } catch (const ServiceUnavailable&) {
        throw;
    } catch (const Error&) { // NOLINT(bugprone-empty-catch): the environment has already ended
    }
}

// A grant may arrive after an interruption. Gives back devices that the process would hold
// unknowingly. A service that has been stopped meanwhile stays stopped; it has granted nothing.
void giveBack(Client& client, std::uint32_t pid) {
    try {
        client.listenForEventsOnly(); // so that no call starts the service
        const auto ofCaller = environmentOfCaller(client);
        for (const EnvironmentEntry& environment : client.environments()) {
            if (isListed(environment, pid) || environment.id == ofCaller)
                leave(client, environment.id, pid);
        }
    } catch (const ServiceUnavailable&) { // NOLINT(bugprone-empty-catch)
    }
}

} // namespace

std::string requestEnvironment(Context& context, const ActivateOptions& options) {
    const auto isWaiting = [&, isIt = RequestedFor(context.client(), options.pid().value_or(0))](
                               const EnvironmentEntry& entry) mutable {
        if (const auto kernel = options.kernel()) {
            const auto kernels = context.client().environment(entry.id).kernels;
            return std::ranges::find(kernels, *kernel) != kernels.end();
        }
        return isIt(entry);
    };
    const auto activate = [&](Client& client, const Waiting& waiting) {
        return client.activate(options, waiting);
    };
    const auto granted = [&](const std::string& id) {
        return grantedText(context.client().environment(id).devices);
    };
    try {
        return options.waits() ? inTurn(context, queueText(context.client(), isWaiting),
                                        options.timeout(), interruptedText, activate, granted)
                               : atOnce(context, takingOnlyText(context.client(), isWaiting),
                                        interruptedText, activate, granted);
    } catch (const Interrupted&) {
        if (const auto pid = options.pid())
            giveBack(context.client(), *pid);
        throw;
    }
}

std::vector<std::uint32_t> requestDevices(Context& context, const std::string& environment,
                                          const AttachOptions& options) {
    const auto isWaiting = [&](const EnvironmentEntry& entry) { return entry.id == environment; };
    const auto attach = [&](Client& client, const Waiting& waiting) {
        return client.attach(environment, options, waiting);
    };
    return options.waits() ? inTurn(context, queueText(context.client(), isWaiting),
                                    options.timeout(), interruptedText, attach, grantedText)
                           : atOnce(context, takingOnlyText(context.client(), isWaiting),
                                    interruptedText, attach, grantedText);
}

} // namespace genv::ctl
