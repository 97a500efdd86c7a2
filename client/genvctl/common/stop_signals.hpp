// SPDX-License-Identifier: LGPL-2.1-or-later
// Being told to stop while waiting for something else.
#pragma once

#include "client/descriptor.hpp"

#include <signal.h>

#include <stdexcept>
#include <string>

namespace genv::ctl {

/// SIGINT, SIGTERM and SIGHUP as something to wait for: as long as this lives they do not end the
/// process but make a descriptor readable. One that was not taken acts when this goes.
class StopSignals {
  public:
    /// With a descriptor, the closing of its other end is the same as a signal. What cannot be
    /// watched for that, such as a file, is not. Throws std::system_error.
    explicit StopSignals(int watched = -1);
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;
    ~StopSignals();

    [[nodiscard]] int descriptor() const noexcept {
        return both_.get() >= 0 ? both_.get() : descriptor_;
    }
    /// Takes the signal that has arrived; 0: none has.
    int take() const noexcept;

  private:
    sigset_t before_{};
    int descriptor_;
    client::Descriptor both_; ///< an epoll instance with what is watched, too, if anything is
};

/// A command that was told to stop while it waited, with what it has left undone.
class Interrupted : public std::runtime_error {
  public:
    Interrupted(int signal, const std::string& what) : std::runtime_error(what), signal_(signal) {}
    [[nodiscard]] int signal() const noexcept { return signal_; }

  private:
    int signal_;
};

/// Ends the process by this signal, so that whoever started it sees what happened.
[[noreturn]] void dieBy(int signal);

} // namespace genv::ctl
