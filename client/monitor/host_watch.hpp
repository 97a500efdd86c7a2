// SPDX-License-Identifier: LGPL-2.1-or-later
// Watches another machine over SSH. It uses one connection to the bus for as long as that works.
// Without a service, it runs nvidia-smi on the machine, and genv 1 if that is installed. A host
// that is down is retried at growing intervals, and meanwhile no scrape waits for it.
#pragma once

#include "client/monitor/deadlines.hpp"
#include "client/monitor/service_watch.hpp"
#include "client/remote/ssh/session.hpp"

#include <functional>
#include <optional>

namespace genv::monitor {

struct HostSettings {
    std::chrono::milliseconds timeout{5000}; ///< of a connection, and of a sample
    bool isQuiet = false;                    ///< do not print messages
    /// Called by this object's thread each time that the host cannot be queried; may be empty.
    std::function<void(const remote::HostFailure&)> failed;
};

class HostWatch final : public Watch {
  public:
    /// The referenced objects must outlive this one.
    HostWatch(remote::Host host, Exchange& exchange, Deadlines& deadlines, HostSettings settings,
              int stopDescriptor);

    void run() override;

  private:
    using Clock = std::chrono::steady_clock;

    /// Runs one of the two functions below. Returns the failure that ended it, or nothing if it was
    /// stopped.
    template <typename Work>
    std::optional<remote::HostFailure> failureOf(Work work);
    void serveBus();
    void serveWithoutBus(Clock::time_point until);
    void publishUnreached(const remote::HostFailure& failure);

    Sample take(Client& client) override;
    void askService(Client& client, Sample& sample);
    void takeWithoutService(Sample& sample);
    [[nodiscard]] bool mayHaveOldGenv() const;
    void askForOldGenv(Sample& sample, bool isReached, const remote::SshBounds& bounds);
    [[nodiscard]] std::vector<DeviceState> readDevices(const remote::SshBounds& bounds) const;
    [[nodiscard]] remote::HostFailure tooLate() const;
    void logState(const std::string& state) override;
    void logDriver(const std::optional<remote::HostFailure>& failure);

    remote::Host host_;
    Deadlines& deadlines_;
    HostSettings settings_;
    remote::Cancellation* connection_ = nullptr; ///< of serveBus(), while that is running
    std::chrono::seconds hungDelay_;             ///< how long a service that hangs is not called
    bool hasOldGenv_ = false;                    ///< the result of the check at oldGenvChecked_
    std::optional<Clock::time_point> oldGenvChecked_;
    std::string loggedDriver_; ///< the last message about its nvidia-smi; empty: no failure
};

} // namespace genv::monitor
