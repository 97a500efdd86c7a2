// SPDX-License-Identifier: LGPL-2.1-or-later
// Options for a call that waits in the queue.
#pragma once

#include "genv/export.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace genv {

/// Sets how a waiting call is observed and canceled. It is a value like the classes of
/// options.hpp. Since 2.0.0.
class GENV_EXPORT Waiting {
  public:
    /// Cancels the wait and leaves the queue as soon as this descriptor, such as a signalfd, is
    /// readable. -1, the default, means that nothing cancels the wait.
    Waiting& setStopDescriptor(int descriptor);
    /// Sets a function that is called when the call does not return at once, and again whenever the
    /// queue, an attachment or a lock has changed. The function may make calls with the same
    /// client.
    Waiting& setChanged(std::function<void()> changed);

    /// Sets a function that returns after how long the function of setChanged() is called again
    /// although nothing has changed, such as for a countdown. Nothing: not until a change.
    Waiting& setAgain(std::function<std::optional<std::chrono::milliseconds>()> again);

    /// Sets a function that returns for how long the function of setChanged() is not called again.
    /// By default, every change calls it. With many requests in the queue, pauses spare the
    /// service, to which each of them puts the same questions after a change.
    Waiting& setPause(std::function<std::chrono::milliseconds()> pause);

    /// Sets whether a change of a device, such as an attachment or a lock, calls the function of
    /// setChanged() as well. By default, it does. Of many requests in the queue, each receives
    /// every such change.
    Waiting& setFollowsDevices(bool follows);

    struct Values;
    /// For internal use by the library.
    [[gnu::visibility("hidden")]] Waiting& setObject(const std::string& path);
    /// For internal use by the library.
    [[gnu::visibility("hidden")]] Waiting& setRepeats(bool repeats);
    /// For internal use by the library.
    [[gnu::visibility("hidden"), nodiscard]] const Values& values() const;

  private:
    std::shared_ptr<const Values> values_;
};

} // namespace genv
