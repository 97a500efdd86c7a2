// SPDX-License-Identifier: LGPL-2.1-or-later
// Being told to stop while waiting for something else.
#pragma once

#include <signal.h>

#include <stdexcept>
#include <string>

namespace genv::ctl {

/// SIGINT, SIGTERM and SIGHUP as something to wait for: as long as this lives they do not end the
/// process but make a descriptor readable. One that was not taken acts when this goes.
class StopSignals {
  public:
    /// Throws std::system_error.
    StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;
    ~StopSignals();

    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    /// Takes the signal that has arrived; 0: none has.
    int take() const noexcept;

  private:
    sigset_t before_{};
    int descriptor_;
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
