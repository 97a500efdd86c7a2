// SPDX-License-Identifier: LGPL-2.1-or-later
// Being told to stop while waiting for something else.
#pragma once

namespace genv::ctl {

/// SIGINT, SIGTERM and SIGHUP as something to wait for: from here on they no longer end the process
/// but make a descriptor readable. Not undone, since what comes after is the end of the command.
class StopSignals {
  public:
    /// Throws std::system_error.
    StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;
    ~StopSignals();

    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

  private:
    int descriptor_;
};

} // namespace genv::ctl
