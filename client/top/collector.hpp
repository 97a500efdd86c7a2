// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes the frames, in a thread with its own connection. It receives the service's signals at once
// and reads everything every few seconds, so a hanging service or driver delays only frames.
#pragma once

#include "client/genvctl/terminal/json.hpp"
#include "client/top/background.hpp"
#include "client/top/mailbox.hpp"
#include "client/top/service_connection.hpp"
#include "client/top/service_frame.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace genv::top {

inline constexpr std::chrono::seconds sampleInterval{2};
inline constexpr std::chrono::seconds clusterInterval{10};
/// The time between two calls to a driver that does not answer, since each call delays frames.
inline constexpr std::chrono::seconds processRetryInterval{15};

/// Reads the state of one machine's service.
class ServiceReader {
  public:
    /// `link` must outlive this object.
    explicit ServiceReader(ServiceConnection& link, std::optional<remote::Host> host);

    /// Reads devices and environments, which needs no driver. Throws Error.
    void readMachine();
    /// Reads the queue, which changes only with a signal. Throws Error.
    void readQueue();
    /// Reads the service's samples of the last hour. Throws Error.
    void readHistory();
    /// Reads the processes; the service asks the driver at most once a second. If the driver does
    /// not answer, the frame says so, and the next calls leave it out for a while. Throws Error.
    void readProcesses();

    /// Returns how many environments were read.
    [[nodiscard]] std::size_t environments() const { return view_.machine.environments.size(); }
    [[nodiscard]] Frame frame() const;
    /// Returns everything that was read. If `gpus` is not empty, it leaves out other devices, and
    /// environments and processes that do not use these.
    [[nodiscard]] ctl::Json json(const std::vector<std::uint32_t>& gpus) const;

  private:
    using Clock = std::chrono::steady_clock;

    ServiceConnection& link_;
    Viewer observer_;
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
/// Returns them as JSON. If `gpus` is not empty, it lists only the GPUs with these numbers in the
/// frame.
ctl::Json readClusterJson(const std::vector<std::uint32_t>& gpus);
/// Watches a cluster until `stop` is readable.
void watchCluster(Mailbox& mailbox, int stop);

} // namespace genv::top
