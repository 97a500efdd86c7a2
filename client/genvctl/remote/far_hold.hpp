// SPDX-License-Identifier: LGPL-2.1-or-later
// Holds devices on another machine as long as this object and the connection live. It runs ssh with
// "genvctl run --hold" on that machine. The output is foreign text.
#pragma once

#include "client/remote/ssh/session.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

/// A grant from another machine.
struct FarGrant {
    std::string environment;            ///< an id
    std::vector<std::uint32_t> devices; ///< indices
    std::uint32_t process = 0;          ///< the PID of the process that holds them there
};

/// The reason why nothing was granted or why the hold has ended.
struct FarRefusal {
    remote::HostFailure failure;
    bool lacksDevices = false; ///< not enough free devices, or not within the timeout
};

class FarHold {
  public:
    /// Starts a request with these options of "genvctl run". Throws std::system_error.
    FarHold(const remote::Host& host, const std::vector<std::string>& options);
    FarHold(const FarHold&) = delete;
    FarHold& operator=(const FarHold&) = delete;
    ~FarHold();

    [[nodiscard]] const remote::Host& host() const noexcept { return host_; }
    /// Readable when take() has something to read; -1 once the hold has ended.
    [[nodiscard]] int descriptor() const noexcept;
    /// Reads the data that has arrived. Call it when the descriptor is readable.
    void take();
    [[nodiscard]] const std::optional<FarGrant>& grant() const noexcept { return grant_; }
    [[nodiscard]] const std::optional<FarRefusal>& refusal() const noexcept { return refusal_; }
    /// Ends the hold with a timeout because the host was too slow.
    void giveUp(std::chrono::milliseconds waited);

    /// Tells the remote process to end. It gives its devices back and leaves the queue.
    void release();
    /// Whether the remote process has ended within this time.
    bool isReleasedWithin(std::chrono::milliseconds time);

  private:
    void takeLine(const std::string& line);
    [[nodiscard]] FarRefusal ended();

    remote::Host host_;
    client::Descriptor input_;  ///< write end: standard input of the remote process
    client::Descriptor output_; ///< read end
    std::unique_ptr<remote::SshChild> ssh_;
    std::string text_;
    std::optional<FarGrant> grant_;
    std::optional<FarRefusal> refusal_;
};

/// Ends several holds at once. When this returns, they hold no devices and wait for none, except on
/// hosts that do not respond; those notice the end when they are reachable again.
void release(std::vector<std::unique_ptr<FarHold>> holds);

} // namespace genv::ctl
