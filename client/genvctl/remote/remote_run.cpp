// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/remote/remote_run.hpp"

#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/environment/turn.hpp"
#include "client/genvctl/remote/far_hold.hpp"
#include "client/genvctl/remote/foreground.hpp"
#include "client/genvctl/remote/remote_commands.hpp"
#include "client/genvctl/remote/strategy.hpp"
#include "client/genvctl/shell/execution.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/text.hpp"
#include "core/sentences/sentences.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

namespace genv::ctl {

namespace {

using Clock = std::chrono::steady_clock;
using FarHolds = std::vector<std::unique_ptr<FarHold>>;

constexpr const char* nothingTaken = "Interrupted; nothing was taken";

Failure noRoom(const std::string& hint) {
    return {ExitStatus::NoDevice, "Cannot find a host with enough available resources", hint};
}

std::string gpusText(const std::vector<std::uint32_t>& devices) {
    return devices.empty() ? "no GPU" : core::nameGpus(devices);
}

/// A request in the form for any host.
struct RemoteRequest {
    WantedDevices devices;
    std::vector<std::string> words; ///< of "genvctl run", without the options of the wait
    bool waits = false;
    std::optional<std::int32_t> priority;        ///< of the wait
    std::optional<std::chrono::seconds> timeout; ///< of the wait
};

RemoteRequest readRequest(OwnEnvironmentOptions wanted) {
    wanted.check();
    const Configuration configuration = wanted.read();
    if (wanted.addsGpus()) { // the other machine gets what this one decided
        wanted.configuration.gpus = fieldText(configuration, Field::Gpus);
        wanted.configuration.gpuMemory = fieldText(configuration, Field::GpuMemory);
    }
    ActivateOptions waiting;
    wanted.waiting.apply(waiting);
    RemoteRequest request;
    request.waits = waiting.waits();
    request.timeout = waiting.timeout();
    const std::size_t named = wanted.devices.indices.size() + wanted.devices.uuids.size();
    const auto count =
        static_cast<std::uint32_t>(named + (wanted.devices.model && named == 0 ? 1 : 0));
    request.devices = {configuration.gpus.value_or(count), configuration.gpuMemoryBytes,
                       wanted.devices.model, wanted.overSubscribe};
    request.priority = std::exchange(wanted.waiting.priority, std::nullopt);
    wanted.waiting.wait.clear(); // the timeout is handled here for all hosts together
    request.words = wanted.words();
    if (configuration.name)
        request.words.insert(request.words.end(), {"--name", *configuration.name});
    return request;
}

/// The hosts that can serve a request, in the order in which they are tried.
struct Candidates {
    std::vector<remote::Host> now;
    std::vector<remote::Host> ever; ///< including those in `now`
};

Candidates candidates(const HostOptions& options, const std::vector<remote::Host>& hosts,
                      Strategy strategy, const WantedDevices& wanted) {
    const auto answers = askHosts<remote::HostState>(options, hosts, remote::readHostState);
    std::vector<HostRoom> rooms;
    for (const auto& answer : answers) {
        const bool isOld = answer.value->genv == remote::Genv::Old;
        if (isOld)
            reportFailure(options, answer.host,
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

// Waits for data from any hold. Returns false if the time is over; throws if a signal has arrived.
bool awaitAny(const FarHolds& holds, const StopSignals& stop,
              const std::optional<Clock::time_point>& until) {
    std::vector<pollfd> watched{{stop.descriptor(), POLLIN, 0}};
    for (const auto& hold : holds)
        watched.push_back({hold->descriptor(), POLLIN, 0});
    int timeout = -1;
    if (until)
        timeout = static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(
            std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now()).count(), 0,
            60'000));
    poll(watched.data(), watched.size(), timeout);
    if (watched.front().revents != 0)
        throw Interrupted(stop.take(), nothingTaken);
    for (std::size_t i = 0; i < holds.size(); ++i) {
        if (watched[i + 1].revents != 0)
            holds[i]->take();
    }
    return !until || Clock::now() < *until;
}

/// Requests devices from hosts, one after the other or all at once, until one grants them.
class Asking {
  public:
    Asking(const HostOptions& options, RemoteRequest request)
        : options_(options), request_(std::move(request)) {}

    /// Tries the hosts one after the other. Returns nothing if none of them grants the request.
    std::unique_ptr<FarHold> askInTurn(const std::vector<remote::Host>& hosts) {
        for (std::size_t i = 0; i < hosts.size(); ++i) {
            auto hold = ask(hosts[i]);
            if (hold->grant())
                return hold;
            reportRefusal(*hold, i + 1 < hosts.size() ? &hosts[i + 1] : nullptr);
        }
        return nullptr;
    }

    /// Waits on all hosts for the first grant, and cancels the other requests.
    std::unique_ptr<FarHold> waitOnAll(const std::vector<remote::Host>& hosts) {
        std::vector<std::string> words = request_.words;
        words.emplace_back("--wait");
        if (request_.priority)
            words.push_back(fmt::format("--priority={}", *request_.priority));
        const StopSignals stop;
        std::optional<Clock::time_point> until;
        if (request_.timeout)
            until = Clock::now() + *request_.timeout;
        FarHolds holds;
        for (const remote::Host& host : hosts)
            holds.push_back(std::make_unique<FarHold>(host, words));
        TurnDisplay display([&](bool) { return TurnLine(waitingText(holds)); });
        display.update();
        try {
            for (;;) {
                const bool isInTime = awaitAny(holds, stop, until);
                if (auto granted = takeGranted(holds)) {
                    release(std::move(holds));
                    display.grant([&] {
                        return fmt::format("{}: {} attached", granted->host().label(),
                                           gpusText(granted->grant()->devices));
                    });
                    return granted;
                }
                dropEnded(holds, display);
                if (!isInTime)
                    throw timedOut(*request_.timeout);
                if (holds.empty())
                    return nullptr;
            }
        } catch (...) {
            display.end();
            release(std::move(holds));
            throw;
        }
    }

    /// Returns the failure to report if nothing was granted.
    [[nodiscard]] Failure failure() const {
        ExitStatus status = refusals_.empty() ? ExitStatus::NoDevice : refusals_.front();
        for (const ExitStatus other : refusals_) {
            if (other != status)
                status = ExitStatus::NoDevice;
        }
        Failure failure =
            noRoom(request_.waits ? "" : "\"--wait\" waits on all of them at the same time.");
        if (status == ExitStatus::NotAuthorized || status == ExitStatus::NoService)
            return {status, failure.what()};
        return failure;
    }

  private:
    std::unique_ptr<FarHold> ask(const remote::Host& host) {
        const StopSignals stop;
        FarHolds one;
        one.push_back(std::make_unique<FarHold>(host, request_.words));
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

    std::string waitingText(const FarHolds& holds) const {
        std::vector<std::string> names;
        for (const auto& hold : holds)
            names.push_back(hold->host().label());
        return fmt::format("waiting for {} GPU{} on {}", request_.devices.count,
                           request_.devices.count == 1 ? "" : "s", joined(names, ", "));
    }

    // Prefers the first host in the list if several have granted the request.
    static std::unique_ptr<FarHold> takeGranted(FarHolds& holds) {
        const auto found = std::find_if(holds.begin(), holds.end(), [](const auto& hold) {
            return hold->grant() && !hold->refusal();
        });
        if (found == holds.end())
            return nullptr;
        auto granted = std::move(*found);
        holds.erase(found);
        return granted;
    }

    void dropEnded(FarHolds& holds, TurnDisplay& display) {
        const auto ended = std::stable_partition(holds.begin(), holds.end(),
                                                 [](const auto& hold) { return !hold->refusal(); });
        if (ended == holds.end())
            return;
        display.end();
        for (auto hold = ended; hold != holds.end(); ++hold)
            reportRefusal(**hold, nullptr);
        holds.erase(ended, holds.end());
        display.update();
    }

    void reportRefusal(const FarHold& hold, const remote::Host* next) {
        const FarRefusal& refusal = *hold.refusal();
        const std::string what =
            refusal.lacksDevices ? "no device is free any more" : refusal.failure.what();
        refusals_.push_back(refusal.lacksDevices
                                ? ExitStatus::NoDevice
                                : hostFailed(hold.host(), refusal.failure).status());
        const std::string then = next != nullptr ? "; trying " + next->label() : "";
        reportFailure(options_, hold.host(),
                      {refusal.failure.trouble(), what + then, refusal.failure.hint()});
    }

    const HostOptions& options_;
    RemoteRequest request_;
    std::vector<ExitStatus> refusals_;
};

std::unique_ptr<FarHold> holdOn(const HostOptions& options, const std::vector<remote::Host>& hosts,
                                const RemoteRun& run) {
    const auto strategy = strategyNamed(run.strategy);
    if (!strategy)
        throw Failure(ExitStatus::Usage,
                      fmt::format("invalid value \"{}\" for --strategy", run.strategy),
                      "Expected most-free, least-free, memory or order.");
    const RemoteRequest request = readRequest(run.wanted);
    const Candidates found = candidates(options, hosts, *strategy, request.devices);
    if (found.ever.empty())
        throw noRoom("No host has that many matching GPUs in total.");
    Asking asking(options, request);
    auto hold = asking.askInTurn(found.now);
    if (!hold && request.waits)
        hold = asking.waitOnAll(found.ever);
    if (!hold)
        throw asking.failure();
    return hold;
}

std::vector<std::string> joiningWords(const RemoteRun& run, const std::string& id,
                                      const FarHold* hold) {
    std::vector<std::string> words{"genvctl", "run", "--id", id};
    if (hold != nullptr)
        words.insert(words.end(), {"--take-over", std::to_string(hold->grant()->process)});
    if (run.wanted.nvmlFilter)
        words.emplace_back("--nvml-filter");
    if (run.command.empty()) {
        words.emplace_back("--login");
        if (run.noPrompt)
            words.emplace_back("--no-prompt");
        return words;
    }
    words.emplace_back("--");
    words.insert(words.end(), run.command.begin(), run.command.end());
    return words;
}

// Allocates a remote terminal if there is a local one, so that the command is interactive as usual.
int runThere(const remote::Host& host, const RemoteRun& run,
             const std::vector<std::string>& words) {
    const std::string line = remote::commandLine(words);
    const bool isSeen =
        run.command.empty() || (isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1);
    return runInForeground(isSeen ? remote::terminalSsh(host, line) : remote::quietSsh(host, line),
                           run.staysAwake);
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

void holdAndRun(const HostOptions& options, const std::vector<remote::Host>& hosts,
                const RemoteRun& run) {
    const auto hold = holdOn(options, hosts, run);
    if (run.command.empty())
        printNote(fmt::format("{}: {}", hold->host().label(), describedGrant(*hold->grant())));
    const int status =
        runThere(hold->host(), run, joiningWords(run, hold->grant()->environment, hold.get()));
    finishWith(status, hold->host());
}

struct RemoteRunArguments {
    RemoteRun run;

    void addTo(CLI::App& command) {
        run.wanted.addTo(command);
        addOption(command, "--strategy", run.strategy,
                  "Choose by most-free, least-free, memory or order "
                  "[default: most-free]",
                  {.values = OneOf{"most-free", "least-free", "memory", "order"}})
            ->type_name("STRATEGY");
    }
};

} // namespace

void runOnBest(const HostOptions& options, const std::vector<remote::Host>& hosts,
               const RemoteRun& run) {
    if (run.command.empty() && isatty(STDIN_FILENO) != 1)
        throw Failure(ExitStatus::Failed, "A shell on another machine needs a terminal here",
                      "\"genvctl remote run\" runs a command without one.");
    if (!run.id) {
        holdAndRun(options, hosts, run);
        return;
    }
    if (run.wanted.isGiven())
        throw Failure(ExitStatus::Usage, "--id cannot be combined with options that request GPUs");
    core::requireIdentifier(*run.id, "id");
    const remote::Host& host = hosts.front();
    finishWith(runThere(host, run, joiningWords(run, *run.id, nullptr)), host);
}

void runRemotely(const Context& context, RemoteRun run) {
    const HostOptions options;
    const std::vector<remote::Host> hosts = options.list(context.options.host);
    if (hosts.size() != 1)
        throw Failure(ExitStatus::Usage, "--host accepts one host",
                      "Use \"genvctl remote\" for several hosts.");
    // A shell function waits until the command ends and cannot continue a stopped command.
    run.staysAwake = context.shell.has_value();
    runOnBest(options, hosts, run);
}

constexpr std::array remoteActivateExamples{
    Example{"Open a shell with two GPUs on one of two hosts",
            "genvctl remote -H gpu1,gpu2 activate --gpus 2"},
    Example{"Wait until one of them has a free GPU",
            "genvctl remote -H gpu1,gpu2 activate --gpus 1 --wait=2h"},
};

constexpr std::array remoteRunExamples{
    Example{"Run a program on one of two hosts",
            "genvctl remote -H gpu1,gpu2 run --gpus 1 -- python train.py"},
    Example{"Keep large hosts free",
            "genvctl remote -H gpu1,gpu2 run --gpus 1 --strategy least-free -- ./test"},
};

void addRemoteRun(CLI::App& remote, Context& context, const SharedHostOptions& hosts) {
    CLI::App* activate = addCommand(remote, "activate", "Open a shell with GPUs on the best host",
                                    {.examples = remoteActivateExamples});
    const auto shell = std::make_shared<RemoteRunArguments>();
    shell->addTo(*activate);
    activate->add_flag("--no-prompt", shell->run.noPrompt, "Do not change the prompt");
    activate->footer("The environment ends with the shell, and the shell with the connection.");
    activate->callback([&context, hosts, shell] {
        context.command = [&context, hosts, shell] {
            runOnBest(*hosts, hosts->list(context.options.host), shell->run);
        };
    });

    CLI::App* run = addCommand(remote, "run", "Run a command with GPUs on the best host",
                               {.examples = remoteRunExamples});
    const auto command = std::make_shared<RemoteRunArguments>();
    command->addTo(*run);
    run->footer("The environment ends with the command. Exits with the command's status.");
    takeEverythingFromTheCommandOn(*run);
    run->callback([&context, hosts, command, run] {
        command->run.command = commandWords(*run);
        command->run.wanted.meansOneGpu = true;
        context.command = [&context, hosts, command] {
            runOnBest(*hosts, hosts->list(context.options.host), command->run);
        };
    });
}

} // namespace genv::ctl
