// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/host_watch.hpp"

#include "client/monitor/foreign.hpp"
#include "client/monitor/nvidia_smi.hpp"
#include "client/monitor/old_genv_sample.hpp"
#include "client/remote/fleet/old_genv.hpp"
#include "client/remote/ssh/remote_command.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace genv::monitor {

namespace {

using remote::HostFailure;
using remote::Trouble;

// The delay between two attempts, and between two checks for software that may have been installed.
constexpr std::chrono::seconds shortestDelay{1};
constexpr std::chrono::seconds maxDelay{60};

// A machine has few GPUs, with one line each.
constexpr std::size_t maxReadingsSize = std::size_t{256} << 10;
constexpr int driverTenths = 6; ///< tenths of a sample's time for nvidia-smi
constexpr int noSuchCommand = 127;

std::chrono::seconds doubled(std::chrono::seconds delay) {
    return std::min(2 * delay, maxDelay);
}

const char* reasonOf(Trouble trouble) {
    switch (trouble) {
    case Trouble::Unreachable:
        return failure::unreachable;
    case Trouble::TimedOut:
        return failure::timeout;
    default:
        return failure::other;
    }
}

/// Makes a connection known to the other methods during its lifetime.
class Connected {
  public:
    Connected(remote::Cancellation*& connection, remote::Cancellation& cancellation)
        : connection_(connection) {
        connection_ = &cancellation;
    }
    Connected(const Connected&) = delete;
    Connected& operator=(const Connected&) = delete;
    ~Connected() { connection_ = nullptr; }

  private:
    remote::Cancellation*& connection_;
};

} // namespace

HostWatch::HostWatch(remote::Host host, Exchange& exchange, Deadlines& deadlines,
                     HostSettings settings, int stopDescriptor)
    : Watch(exchange, stopDescriptor, host.label()), host_(std::move(host)), deadlines_(deadlines),
      settings_(std::move(settings)), hungDelay_(shortestDelay) {}

void HostWatch::run() {
    for (std::chrono::seconds delay = shortestDelay; !isStopped(); delay = doubled(delay)) {
        const auto begun = Clock::now();
        auto failure = failureOf([this] { serveBus(); });
        if (Clock::now() - begun >= maxDelay)
            delay = shortestDelay;
        const auto retry = Clock::now() + delay;
        if (failure && failure->trouble() == Trouble::NoService) {
            logState(failure->what());
            failure = failureOf([&] { serveWithoutBus(retry); });
        }
        if (!failure || isStopped())
            continue;
        publishUnreached(*failure);
        if (stopsWithin(delay))
            return;
    }
}

template <typename Work>
std::optional<HostFailure> HostWatch::failureOf(Work work) {
    try {
        work();
        return std::nullopt;
    } catch (const HostFailure& failure) {
        return failure;
    } catch (const std::exception& error) { // such as no more processes
        return HostFailure(Trouble::Failed, remote::lastLine(error.what()));
    }
}

void HostWatch::serveBus() {
    remote::Cancellation cancellation;
    remote::Session session(host_, {std::nullopt, &cancellation});
    const Connected connected(connection_, cancellation);
    try {
        std::optional<Client> client;
        {
            const Deadlines::Bound bound(deadlines_, cancellation,
                                         Clock::now() + settings_.timeout);
            client.emplace(session.connect());
            client->listenForEventsOnly();
        }
        serve(*client);
    } catch (const Error& error) {
        throw cancellation.isCancelled() ? tooLate() : session.explain(error);
    }
}

void HostWatch::serveWithoutBus(Clock::time_point until) {
    exchange().expire(); // the last sample is from a time with a bus
    while (!isStopped() && Clock::now() < until) {
        if (!exchange().takeRequest()) {
            awaitRequest(until);
            continue;
        }
        Sample sample;
        sample.machine = MachineSoftware::WithoutGenv;
        sample.begun = Clock::now();
        takeWithoutService(sample);
        exchange().publish(std::move(sample));
    }
}

void HostWatch::publishUnreached(const HostFailure& failure) {
    exchange().countFailure(reasonOf(failure.trouble()));
    Sample sample;
    sample.machine = MachineSoftware::Unreached;
    sample.begun = Clock::now();
    sample.standsUntil = Clock::time_point::max();
    exchange().publish(std::move(sample));
    const std::string what = failure.what();
    logState(failure.hint().empty()
                 ? what
                 : fmt::format("{}{} {}", what, what.ends_with('.') ? "" : ".", failure.hint()));
    if (settings_.failed)
        settings_.failed(failure);
}

Sample HostWatch::take(Client& client) {
    Sample sample;
    sample.begun = Clock::now();
    {
        const Deadlines::Bound bound(deadlines_, *connection_, sample.begun + settings_.timeout);
        if (client.serviceIsThere()) {
            askService(client, sample);
            return sample;
        }
        sample.machine = client.serviceIsInstalled() ? MachineSoftware::WithService
                                                     : MachineSoftware::WithoutGenv;
    }
    takeWithoutService(sample);
    return sample;
}

void HostWatch::askService(Client& client, Sample& sample) {
    try {
        sample.state = ask(client);
        sample.omitted = confine(*sample.state);
        sample.isUp = true;
        hungDelay_ = shortestDelay;
        logState("the service is running");
    } catch (const std::exception& error) { // also for invalid replies
        sample.state.reset();
        // If the bus does not reply either, this throws, because the host has failed.
        static_cast<void>(client.serviceIsInstalled());
        exchange().countError();
        sample.standsUntil = Clock::now() + hungDelay_;
        hungDelay_ = doubled(hungDelay_);
        logState(fmt::format("the service does not answer: {}", remote::lastLine(error.what())));
    }
    sample.took = Clock::now() - sample.begun;
}

void HostWatch::takeWithoutService(Sample& sample) {
    remote::Cancellation cancellation; // for stopping; the commands have their own deadlines
    const Deadlines::Bound bound(deadlines_, cancellation, Clock::time_point::max());
    std::vector<DeviceState> readings;
    std::optional<HostFailure> failure;
    try {
        readings = readDevices({settings_.timeout * driverTenths / 10, &cancellation});
    } catch (const HostFailure& why) {
        failure = why;
    }
    // A driver that hangs does not show whether the host works, so another command checks the host.
    const bool isReached =
        connection_ != nullptr || !failure || failure->trouble() == Trouble::Failed;
    if (failure &&
        (cancellation.isCancelled() || (!isReached && failure->trouble() != Trouble::TimedOut)))
        throw *failure;
    if (sample.machine == MachineSoftware::WithoutGenv && (mayHaveOldGenv() || !isReached))
        askForOldGenv(sample, isReached, {settings_.timeout, &cancellation});
    logDriver(failure);
    if (!failure) {
        if (!sample.state)
            sample.state.emplace();
        mergeReadings(sample.state->machine.devices, std::move(readings));
    }
    if (sample.state)
        sample.omitted = confine(*sample.state);
    sample.took = Clock::now() - sample.begun;
}

bool HostWatch::mayHaveOldGenv() const {
    return hasOldGenv_ || !oldGenvChecked_ || Clock::now() - *oldGenvChecked_ >= maxDelay;
}

void HostWatch::askForOldGenv(Sample& sample, bool isReached, const remote::SshBounds& bounds) {
    try {
        sample.state = askOldGenv(host_, remote::remainingBounds(bounds, sample.begun));
        hasOldGenv_ = sample.state.has_value();
        oldGenvChecked_ = Clock::now();
    } catch (const HostFailure&) {
        if (!isReached)
            throw;
    }
    if (sample.state)
        sample.machine = MachineSoftware::WithOldGenv;
}

std::vector<DeviceState> HostWatch::readDevices(const remote::SshBounds& bounds) const {
    const auto output = remote::runThere(host_, nvidiaSmiCommand(), {}, bounds, maxReadingsSize);
    if (output.status == noSuchCommand)
        return {}; // a machine without GPUs
    if (output.status != 0)
        throw HostFailure(Trouble::Failed, remote::lastLine(output.errorText + output.text));
    return readNvidiaSmi(output.text, std::chrono::time_point_cast<Time::duration>(
                                          std::chrono::system_clock::now()));
}

HostFailure HostWatch::tooLate() const {
    return {Trouble::TimedOut,
            fmt::format("no answer within {:g} s",
                        std::chrono::duration<double>(settings_.timeout).count()),
            "\"--timeout\" sets a longer time."};
}

void HostWatch::logDriver(const std::optional<HostFailure>& failure) {
    const std::string text = failure ? failure->what() : "";
    if (failure) {
        exchange().countFailure(failure::driver);
        if (text != loggedDriver_ && !settings_.isQuiet)
            report(fmt::format("cannot read its nvidia-smi: {}", text));
    }
    loggedDriver_ = text;
}

void HostWatch::logState(const std::string& state) {
    if (!settings_.isQuiet)
        Watch::logState(state);
}

} // namespace genv::monitor
