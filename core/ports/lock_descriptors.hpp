// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the descriptors that locks are. The client has one end and the service the other; when
// every copy of the client's is closed, however that comes, the lock is released.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>

namespace genv::core {

/// The client's end, until it is handed over; closes it.
class LockEnd {
  public:
    LockEnd() = default;
    LockEnd(const LockEnd&) = delete;
    LockEnd& operator=(const LockEnd&) = delete;
    virtual ~LockEnd() = default;

    [[nodiscard]] virtual int descriptor() const = 0;
};

/// Called on the loop's thread only.
class LockDescriptors {
  public:
    virtual ~LockDescriptors() = default;

    /// Makes the two ends of the lock with this number and begins to watch the service's, which is
    /// found again after a restart. Throws Error(LimitsExceeded) when there are no descriptors
    /// left.
    virtual std::unique_ptr<LockEnd> open(std::uint64_t number) = 0;
    /// Lets go of a lock; nobody is told.
    virtual void close(std::uint64_t number) = 0;
    /// The locks from before the service started. Those that were released meanwhile are told of
    /// soon.
    virtual std::set<std::uint64_t> found() = 0;
    /// Whether every copy of the client's end of a lock that was found is closed.
    [[nodiscard]] virtual bool isReleased(std::uint64_t number) const = 0;
    /// Who hears of a release. Called from the loop.
    virtual void onRelease(std::function<void(std::uint64_t number)> listener) = 0;
};

} // namespace genv::core
