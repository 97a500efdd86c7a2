// SPDX-License-Identifier: LGPL-2.1-or-later
// Another machine over SSH. Its bus is asked over one connection for as long as that holds; without
// a service there, its nvidia-smi is, and the old genv where it has that. A host that is down is
// tried again ever more seldom, and no scrape waits for it meanwhile.
#pragma once

#include "client/monitor/deadlines.hpp"
#include "client/monitor/watch.hpp"
#include "client/remote/ssh/session.hpp"

#include <functional>
#include <optional>

namespace genv::monitor {

struct HostSettings {
    std::chrono::milliseconds timeout{5000}; ///< of a connection, and of a sample
    bool isQuiet = false;                    ///< nothing is told of it
    /// Told each time that it cannot be asked, by its thread; may be empty.
    std::function<void(const remote::HostFailure&)> failed;
};

class HostWatch final : public Watch {
  public:
    /// What is referred to must outlive it.
    HostWatch(remote::Host host, Exchange& exchange, Deadlines& deadlines, HostSettings settings,
              int stopDescriptor);

    void run() override;

  private:
    using Clock = std::chrono::steady_clock;

    /// Runs one of the two that follow; what ended it, unless it was told to stop.
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
    void tell(const std::string& state) override;
    void tellOfDriver(const std::optional<remote::HostFailure>& failure);

    remote::Host host_;
    Deadlines& deadlines_;
    HostSettings settings_;
    remote::Cancellation* connection_ = nullptr; ///< of serveBus(), while that runs
    std::chrono::seconds hungDelay_;             ///< how long a service that hangs is left alone
    bool hasOldGenv_ = false;                    ///< as found at oldGenvChecked_
    std::optional<Clock::time_point> oldGenvChecked_;
    std::string driverTold_; ///< what was said last of its nvidia-smi; empty: that it is well
};

} // namespace genv::monitor
