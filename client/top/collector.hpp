// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes the frames, in a thread with its own connection. It receives the service's signals at once
// and reads everything every few seconds, so a hanging service or driver delays only frames.
#pragma once

#include "client/top/background.hpp"
#include "client/top/mailbox.hpp"
#include "client/top/service_frame.hpp"
#include "client/top/service_link.hpp"

#include <chrono>
#include <optional>

namespace genv::top {

inline constexpr std::chrono::seconds sampleInterval{2};
inline constexpr std::chrono::seconds clusterInterval{10};
/// The time between two calls to a driver that does not answer, since each call delays frames.
inline constexpr std::chrono::seconds processRetryInterval{15};

/// Reads the state of one machine's service.
class ServiceReader {
  public:
    /// `link` must outlive this object.
    explicit ServiceReader(ServiceLink& link, std::optional<remote::Host> host);

    /// Reads devices and environments, which needs no driver. Throws Error.
    void readMachine();
    /// Reads the queue, which changes only with a signal. Throws Error.
    void readQueue();
    /// Reads the service's samples of the last hour. Throws Error.
    void readHistory();
    /// Reads the processes; the service asks the driver at most once a second. If the driver does
    /// not answer, the frame says so, and the next calls leave it out for a while. Throws Error.
    void readProcesses();

    [[nodiscard]] Frame frame() const;

  private:
    using Clock = std::chrono::steady_clock;

    ServiceLink& link_;
    Observer observer_;
    bool isKnown_ = false; ///< who the bus says this is
    ServiceView view_;
    HistoryStore history_;
    Clock::time_point processesDue_; ///< not before
};

/// Returns a frame that contains only a sentence.
Frame troubleFrame(const ctl::Failure& failure, const std::optional<remote::Host>& host);

/// Watches a service and posts its frames until `stop` is readable.
void watchService(Mailbox& mailbox, const std::optional<remote::Host>& host, int stop);

/// Returns the nodes and jobs of a Slurm cluster as a frame. Throws Failure.
Frame readCluster();
/// Watches a cluster until `stop` is readable.
void watchCluster(Mailbox& mailbox, int stop);

} // namespace genv::top
