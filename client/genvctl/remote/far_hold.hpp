// SPDX-License-Identifier: LGPL-2.1-or-later
// Devices that are held on another machine for as long as this object lives and the connection
// does: an ssh that runs "genvctl run --hold" there. What it prints is foreign.
#pragma once

#include "client/remote/ssh/session.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

/// What was granted.
struct FarGrant {
    std::string environment;            ///< an id
    std::vector<std::uint32_t> devices; ///< indices
    std::uint32_t process = 0;          ///< the one that holds them there
};

/// Why nothing was granted, or the hold has ended.
struct FarRefusal {
    remote::HostFailure failure;
    bool lacksDevices = false; ///< there are none free, or not within the time
};

class FarHold {
  public:
    /// Starts to ask, with these options of "genvctl run". Throws std::system_error.
    FarHold(const remote::Host& host, const std::vector<std::string>& options);
    FarHold(const FarHold&) = delete;
    FarHold& operator=(const FarHold&) = delete;
    ~FarHold();

    [[nodiscard]] const remote::Host& host() const noexcept { return host_; }
    /// Readable when there is something for take(); -1 once the hold has ended.
    [[nodiscard]] int descriptor() const noexcept;
    /// Takes what has arrived; the descriptor is readable.
    void take();
    [[nodiscard]] const std::optional<FarGrant>& grant() const noexcept { return grant_; }
    [[nodiscard]] const std::optional<FarRefusal>& refusal() const noexcept { return refusal_; }
    /// The host was too slow: the hold ends with that refusal.
    void giveUp(std::chrono::milliseconds waited);

    /// Tells the far side that it is over; it gives back what it has and leaves the queue.
    void release();
    /// Whether the far side has done so within this time.
    bool isReleasedWithin(std::chrono::milliseconds time);

  private:
    void takeLine(const std::string& line);
    [[nodiscard]] FarRefusal ended();

    remote::Host host_;
    client::Descriptor input_;  ///< write end: the far side's standard input
    client::Descriptor output_; ///< read end
    std::unique_ptr<remote::SshChild> ssh_;
    std::string text_;
    std::optional<FarGrant> grant_;
    std::optional<FarRefusal> refusal_;
};

/// Ends holds, all at once: none of them has or waits for anything any more when this returns,
/// but for hosts that do not answer; those hear of it when they do again.
void release(std::vector<std::unique_ptr<FarHold>> holds);

} // namespace genv::ctl
