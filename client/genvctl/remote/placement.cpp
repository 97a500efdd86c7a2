// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/remote/placement.hpp"

#include "client/genvctl/environment/turn.hpp"
#include "client/genvctl/remote/claim.hpp"
#include "client/genvctl/remote/foreground.hpp"
#include "client/genvctl/remote/remote_commands.hpp"
#include "client/genvctl/remote/strategy.hpp"
#include "client/genvctl/shell/execution.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/text.hpp"
#include "core/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace genv::ctl {

namespace {

using Clock = std::chrono::steady_clock;
using Claims = std::vector<std::unique_ptr<FarClaim>>;

constexpr const char* nothingTaken = "Interrupted; nothing was taken";

Failure noRoom(const std::string& hint) {
    return {ExitStatus::NoDevice, "Cannot find a host with enough available resources", hint};
}

std::string gpusText(const std::vector<std::uint32_t>& devices) {
    if (devices.empty())
        return "no GPU";
    return fmt::format("GPU{} {}", devices.size() == 1 ? "" : "s", joined(devices, ","));
}

/// What a request is on any host.
struct PlacementRequest {
    WantedDevices devices;
    std::vector<std::string> words; ///< of "genvctl run", but for --wait
    bool waits = false;
    std::optional<std::chrono::seconds> timeout; ///< of the wait
};

PlacementRequest readRequest(OwnEnvironmentOptions wanted) {
    wanted.check();
    const Configuration configuration = wanted.configuration.read();
    ActivateOptions waiting;
    wanted.waiting.apply(waiting);
    PlacementRequest request;
    request.waits = waiting.wait;
    request.timeout = waiting.timeout;
    const std::size_t named = wanted.devices.indices.size() + wanted.devices.uuids.size();
    const auto count =
        static_cast<std::uint32_t>(named + (wanted.devices.model && named == 0 ? 1 : 0));
    request.devices = {configuration.gpus.value_or(count), configuration.gpuMemoryBytes,
                       wanted.devices.model, wanted.overSubscribe};
    wanted.waiting.wait.clear(); // how long is decided here, for all hosts together
    request.words = wanted.words();
    if (configuration.name)
        request.words.insert(request.words.end(), {"--name", *configuration.name});
    return request;
}

/// Hosts that could serve, in the order in which they are tried.
struct Candidates {
    std::vector<remote::Host> now;
    std::vector<remote::Host> ever; ///< those of now, too
};

Candidates candidates(const HostOptions& options, const std::vector<remote::Host>& hosts,
                      Strategy strategy, const WantedDevices& wanted) {
    const auto answers = askHosts<remote::HostState>(options, hosts, remote::readHostState);
    std::vector<HostRoom> rooms;
    for (const auto& answer : answers) {
        const bool isOld = answer.value->genv == remote::Genv::Old;
        if (isOld)
            tellTrouble(options, answer.host,
                        {remote::Trouble::Failed,
                         "it runs the genv of Python, where nothing can be attached from here",
                         "Log in there for it, or install this genv there."});
        rooms.push_back(isOld ? HostRoom{} : roomFor(wanted, *answer.value));
    }
    Candidates found;
    for (const std::size_t index : inOrder(strategy, rooms)) {
        if (rooms[index].servesNow)
            found.now.push_back(answers[index].host);
        if (rooms[index].servesEver)
            found.ever.push_back(answers[index].host);
    }
    return found;
}

// Nothing where the time is over or a signal has arrived.
bool awaitAny(const Claims& claims, const StopSignals& stop,
              const std::optional<Clock::time_point>& until) {
    std::vector<pollfd> watched{{stop.descriptor(), POLLIN, 0}};
    for (const auto& claim : claims)
        watched.push_back({claim->descriptor(), POLLIN, 0});
    int longest = -1;
    if (until)
        longest = static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(
            std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now()).count(), 0,
            60'000));
    poll(watched.data(), watched.size(), longest);
    if (watched.front().revents != 0)
        throw Interrupted(stop.take(), nothingTaken);
    for (std::size_t i = 0; i < claims.size(); ++i) {
        if (watched[i + 1].revents != 0)
            claims[i]->take();
    }
    return !until || Clock::now() < *until;
}

/// The claims, one after the other or all at once, until one of them is granted.
class Claiming {
  public:
    Claiming(const HostOptions& options, PlacementRequest request)
        : options_(options), request_(std::move(request)) {}

    /// Tries the hosts one after the other; nothing where none of them grants it.
    std::unique_ptr<FarClaim> claimNow(const std::vector<remote::Host>& hosts) {
        for (std::size_t i = 0; i < hosts.size(); ++i) {
            auto claim = ask(hosts[i]);
            if (claim->grant())
                return claim;
            tellRefusal(*claim, i + 1 < hosts.size() ? &hosts[i + 1] : nullptr);
        }
        return nullptr;
    }

    /// Waits on all hosts for the first that grants it; the others are left.
    std::unique_ptr<FarClaim> claimInTurn(const std::vector<remote::Host>& hosts) {
        std::vector<std::string> words = request_.words;
        words.emplace_back("--wait");
        const StopSignals stop;
        std::optional<Clock::time_point> until;
        if (request_.timeout)
            until = Clock::now() + *request_.timeout;
        Claims claims;
        for (const remote::Host& host : hosts)
            claims.push_back(std::make_unique<FarClaim>(host, words));
        TurnDisplay display([&](bool) { return waitingText(claims); });
        display.update();
        try {
            for (;;) {
                const bool isInTime = awaitAny(claims, stop, until);
                if (auto granted = takeGranted(claims)) {
                    release(std::move(claims));
                    display.grant([&] {
                        return fmt::format("{}: {} attached", granted->host().label(),
                                           gpusText(granted->grant()->devices));
                    });
                    return granted;
                }
                dropEnded(claims, display);
                if (!isInTime)
                    throw timedOut(*request_.timeout);
                if (claims.empty())
                    return nullptr;
            }
        } catch (...) {
            display.end();
            release(std::move(claims));
            throw;
        }
    }

    /// What to say where nothing was granted.
    [[nodiscard]] Failure failure() const {
        ExitStatus status = refusals_.empty() ? ExitStatus::NoDevice : refusals_.front();
        for (const ExitStatus other : refusals_) {
            if (other != status)
                status = ExitStatus::NoDevice;
        }
        Failure failure =
            noRoom(request_.waits ? "" : "\"--wait\" waits on all of them at the same time.");
        if (status == ExitStatus::NotAuthorised || status == ExitStatus::NoService)
            return {status, failure.what()};
        return failure;
    }

  private:
    std::unique_ptr<FarClaim> ask(const remote::Host& host) {
        const StopSignals stop;
        Claims one;
        one.push_back(std::make_unique<FarClaim>(host, request_.words));
        const auto until = Clock::now() + options_.deadline();
        try {
            while (!one.front()->grant() && !one.front()->refusal()) {
                if (!awaitAny(one, stop, until) && !one.front()->grant() && !one.front()->refusal())
                    one.front()->giveUp(options_.deadline());
            }
        } catch (const Interrupted&) {
            release(std::move(one));
            throw;
        }
        return std::move(one.front());
    }

    std::string waitingText(const Claims& claims) const {
        std::vector<std::string> names;
        for (const auto& claim : claims)
            names.push_back(claim->host().label());
        return fmt::format("waiting for {} GPU{} on {}", request_.devices.count,
                           request_.devices.count == 1 ? "" : "s", joined(names, ", "));
    }

    // In the order of the hosts where several were granted at the same time.
    static std::unique_ptr<FarClaim> takeGranted(Claims& claims) {
        const auto found = std::find_if(claims.begin(), claims.end(), [](const auto& claim) {
            return claim->grant() && !claim->refusal();
        });
        if (found == claims.end())
            return nullptr;
        auto granted = std::move(*found);
        claims.erase(found);
        return granted;
    }

    void dropEnded(Claims& claims, TurnDisplay& display) {
        const auto ended = std::stable_partition(
            claims.begin(), claims.end(), [](const auto& claim) { return !claim->refusal(); });
        if (ended == claims.end())
            return;
        display.end();
        for (auto claim = ended; claim != claims.end(); ++claim)
            tellRefusal(**claim, nullptr);
        claims.erase(ended, claims.end());
        display.update();
    }

    void tellRefusal(const FarClaim& claim, const remote::Host* next) {
        const FarRefusal& refusal = *claim.refusal();
        const std::string what =
            refusal.lacksDevices ? "no device is free any more" : refusal.failure.what();
        refusals_.push_back(refusal.lacksDevices
                                ? ExitStatus::NoDevice
                                : hostFailed(claim.host(), refusal.failure).status());
        const std::string then = next != nullptr ? "; trying " + next->label() : "";
        tellTrouble(options_, claim.host(),
                    {refusal.failure.trouble(), what + then, refusal.failure.hint()});
    }

    const HostOptions& options_;
    PlacementRequest request_;
    std::vector<ExitStatus> refusals_;
};

std::unique_ptr<FarClaim> claimOn(const HostOptions& options,
                                  const std::vector<remote::Host>& hosts,
                                  const Placement& placement) {
    const auto strategy = strategyNamed(placement.strategy);
    if (!strategy)
        throw Failure(ExitStatus::Usage,
                      fmt::format("--strategy: \"{}\" is none", placement.strategy),
                      "It is most-free, least-free, memory or order.");
    const PlacementRequest request = readRequest(placement.wanted);
    const Candidates found = candidates(options, hosts, *strategy, request.devices);
    if (found.ever.empty())
        throw noRoom("No host has so many such GPUs, whoever holds them now.");
    Claiming claiming(options, request);
    auto claim = claiming.claimNow(found.now);
    if (!claim && request.waits)
        claim = claiming.claimInTurn(found.ever);
    if (!claim)
        throw claiming.failure();
    return claim;
}

std::vector<std::string> joiningWords(const Placement& placement, const std::string& id,
                                      const FarClaim* claim) {
    std::vector<std::string> words{"genvctl", "run", "--id", id};
    if (claim != nullptr)
        words.insert(words.end(), {"--take-over", std::to_string(claim->grant()->process)});
    if (placement.wanted.nvmlFilter)
        words.emplace_back("--nvml-filter");
    if (placement.command.empty()) {
        words.emplace_back("--login");
        if (placement.noPrompt)
            words.emplace_back("--no-prompt");
        return words;
    }
    words.emplace_back("--");
    words.insert(words.end(), placement.command.begin(), placement.command.end());
    return words;
}

// With a terminal there where there is one here, so that the command is the person's as any other.
int runThere(const remote::Host& host, const Placement& placement,
             const std::vector<std::string>& words) {
    const std::string line = remote::commandLine(words);
    const bool isSeen =
        placement.command.empty() || (isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1);
    return runInForeground(isSeen ? remote::terminalSsh(host, line) : remote::quietSsh(host, line),
                           placement.staysAwake);
}

void finishWith(int status, const remote::Host& host) {
    if (status == remote::sshFailed)
        complain(fmt::format("{}: the connection failed or was lost", host.label()),
                 "Where ssh said nothing, the command itself has ended with 255.");
    if (status != 0)
        throw Failure(static_cast<ExitStatus>(status), "");
}

std::string describedGrant(const FarGrant& grant) {
    return fmt::format("{} attached to environment {}", gpusText(grant.devices), grant.environment);
}

void claimAndRun(const HostOptions& options, const std::vector<remote::Host>& hosts,
                 const Placement& placement) {
    const auto claim = claimOn(options, hosts, placement);
    if (placement.command.empty())
        tellAside(fmt::format("{}: {}", claim->host().label(), describedGrant(*claim->grant())));
    const int status = runThere(claim->host(), placement,
                                joiningWords(placement, claim->grant()->environment, claim.get()));
    finishWith(status, claim->host());
}

struct PlacementArguments {
    Placement placement;

    void addTo(CLI::App& command) {
        placement.wanted.addTo(command);
        command
            .add_option("--strategy", placement.strategy,
                        "Which host: most-free (the default), least-free, memory or order")
            ->type_name("HOW");
    }
};

} // namespace

void placeOn(const HostOptions& options, const std::vector<remote::Host>& hosts,
             const Placement& placement) {
    if (placement.command.empty() && isatty(STDIN_FILENO) != 1)
        throw Failure(ExitStatus::Failed, "A shell on another machine needs a terminal here",
                      "\"genvctl remote run\" runs a command without one.");
    if (!placement.id) {
        claimAndRun(options, hosts, placement);
        return;
    }
    if (placement.wanted.isGiven())
        throw Failure(ExitStatus::Usage, "--id joins an environment, which is as it is");
    core::requireIdentifier(*placement.id, "id");
    const remote::Host& host = hosts.front();
    finishWith(runThere(host, placement, joiningWords(placement, *placement.id, nullptr)), host);
}

void placeThere(const Context& context, Placement placement) {
    const HostOptions options;
    const std::vector<remote::Host> hosts = options.list(context);
    if (hosts.size() != 1)
        throw Failure(ExitStatus::Usage, "-H names one host",
                      "\"genvctl remote\" takes several hosts.");
    // A shell function waits for what it calls, and for nothing that stops.
    placement.staysAwake = context.shell.has_value();
    placeOn(options, hosts, placement);
}

void addRemotePlacement(CLI::App& remote, Context& context, const SharedHostOptions& hosts) {
    CLI::App* activate =
        remote.add_subcommand("activate", "Get a shell with GPUs on the host that suits best");
    const auto shell = std::make_shared<PlacementArguments>();
    shell->addTo(*activate);
    activate->add_flag("--no-prompt", shell->placement.noPrompt, "Leave the prompt as it is");
    activate->footer("The environment ends with the shell, and the shell with the connection.");
    activate->callback([&context, hosts, shell] {
        context.command = [&context, hosts, shell] {
            placeOn(*hosts, hosts->list(context), shell->placement);
        };
    });

    CLI::App* run = remote.add_subcommand("run", "Run a command on the host that suits best");
    const auto command = std::make_shared<PlacementArguments>();
    command->addTo(*run);
    run->footer("The environment ends with the command, whose exit status is returned.");
    takeEverythingFromTheCommandOn(*run);
    run->callback([&context, hosts, command, run] {
        command->placement.command = commandWords(*run);
        context.command = [&context, hosts, command] {
            placeOn(*hosts, hosts->list(context), command->placement);
        };
    });
}

} // namespace genv::ctl
