// SPDX-License-Identifier: LGPL-2.1-or-later
// Where frames come from: a thread with a connection of its own. It takes the service's signals at
// once and reads everything every few seconds, so a service or a driver that hangs delays frames
// and nothing else.
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
/// The time between two questions to a driver that does not answer: each delays frames.
inline constexpr std::chrono::seconds processRetryInterval{15};

/// Reads what one machine's service says.
class ServiceReader {
  public:
    /// Where the person is: `link` outlives this.
    explicit ServiceReader(ServiceLink& link, std::optional<remote::Host> host);

    /// Reads devices and environments, which needs no driver. Throws Error.
    void readMachine();
    /// Reads the queue, which changes only with a signal. Throws Error.
    void readQueue();
    /// Reads what the service remembers of the last hour. Throws Error.
    void readHistory();
    /// Reads the processes, which has the driver asked unless it was a second ago. If it does not
    /// answer, the frame says so, and for a while it is not asked again. Throws Error.
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

/// A frame with nothing but a sentence.
Frame troubleFrame(const ctl::Failure& failure, const std::optional<remote::Host>& host);

/// Watches a service until `stop` is readable: every frame is posted.
void watchService(Mailbox& mailbox, const std::optional<remote::Host>& host, int stop);

/// The nodes and jobs of a Slurm cluster as a frame. Throws Failure.
Frame readCluster();
/// Watches a cluster until `stop` is readable.
void watchCluster(Mailbox& mailbox, int stop);

} // namespace genv::top
