// SPDX-License-Identifier: LGPL-2.1-or-later
// What a program does while one of its calls waits in the queue.
#pragma once

#include "genv/export.hpp"

#include <functional>
#include <memory>

namespace genv {

/// How a waiting call is watched and given up. It is a value as the classes of options.hpp are.
/// Since 2.0.0.
class GENV_EXPORT Waiting {
  public:
    /// The call gives up and leaves the queue as soon as this is readable, such as a signalfd; -1,
    /// the default: it waits to the end.
    Waiting& setStopDescriptor(int descriptor);
    /// Called when the call does not return at once, and again whenever the queue, an attachment or
    /// a lock has changed. It may make calls of the same client.
    Waiting& setChanged(std::function<void()> changed);

    struct Values;
    /// For the library itself.
    [[gnu::visibility("hidden"), nodiscard]] const Values& values() const;

  private:
    std::shared_ptr<const Values> values_;
};

} // namespace genv
