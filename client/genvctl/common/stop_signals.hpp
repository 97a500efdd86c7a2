// SPDX-License-Identifier: LGPL-2.1-or-later
// Handles signals to stop while a command waits for something else.
#pragma once

#include "client/descriptor_functions.hpp"

#include <signal.h>

#include <stdexcept>
#include <string>

namespace genv::ctl {

/// Makes SIGINT, SIGTERM and SIGHUP available as a descriptor. While this object exists, these
/// signals do not end the process but make the descriptor readable. A signal that was not taken is
/// delivered when the object is destroyed.
class StopSignals {
  public:
    /// With a descriptor, closing its other end counts as a signal. A descriptor that cannot be
    /// polled, such as a file, is ignored. Throws std::system_error.
    explicit StopSignals(int watched = -1);
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;
    ~StopSignals();

    [[nodiscard]] int descriptor() const noexcept {
        return both_.get() >= 0 ? both_.get() : descriptor_;
    }
    /// Takes the pending signal and returns its number, or 0 if there is none.
    int take() const noexcept;

  private:
    sigset_t before_{};
    int descriptor_;
    client::Descriptor both_; ///< epoll instance for the signals and the watched descriptor
};

/// A command was interrupted while it waited. The text names what was not done.
class Interrupted : public std::runtime_error {
  public:
    Interrupted(int signal, const std::string& what) : std::runtime_error(what), signal_(signal) {}
    [[nodiscard]] int signal() const noexcept { return signal_; }

  private:
    int signal_;
};

/// Ends the process by this signal, so that its parent sees the cause.
[[noreturn]] void dieBy(int signal);

} // namespace genv::ctl
