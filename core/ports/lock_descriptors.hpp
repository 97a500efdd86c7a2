// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the descriptors that represent locks. The client has one end and the service the other.
// When every copy of the client's end is closed, for whatever reason, the lock is released.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>

namespace genv::core {

/// The client's end, until it is handed over. Closes it on destruction.
class LockEnd {
  public:
    LockEnd() = default;
    LockEnd(const LockEnd&) = delete;
    LockEnd& operator=(const LockEnd&) = delete;
    virtual ~LockEnd() = default;

    [[nodiscard]] virtual int descriptor() const = 0;
};

/// Creates and watches lock descriptors. Only the loop's thread calls it.
class LockDescriptors {
  public:
    virtual ~LockDescriptors() = default;

    /// Creates the two ends of the lock with this number and starts to watch the service's end,
    /// which survives a restart of the service. Throws Error(LimitsExceeded) if no descriptors are
    /// left.
    virtual std::unique_ptr<LockEnd> open(std::uint64_t number) = 0;
    /// Drops a lock without calling the listener.
    virtual void close(std::uint64_t number) = 0;
    /// Returns the locks from before the service started. Those that were released in the meantime
    /// are reported soon.
    virtual std::set<std::uint64_t> found() = 0;
    /// Returns whether every copy of the client's end of a found lock is closed.
    [[nodiscard]] virtual bool isReleased(std::uint64_t number) const = 0;
    /// Sets the listener for releases. It is called from the loop.
    virtual void onRelease(std::function<void(std::uint64_t number)> listener) = 0;
};

} // namespace genv::core
