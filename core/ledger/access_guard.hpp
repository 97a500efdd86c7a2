// SPDX-License-Identifier: LGPL-2.1-or-later
// Opens devices to the users who hold them. The ledger calls the guard around each change: open()
// before it writes the change, close() after the change is made and before listeners receive the
// event.
#pragma once

#include "core/base/process.hpp"
#include "core/model/device.hpp"

namespace genv::core {

class AccessGuard {
  public:
    virtual ~AccessGuard() = default;

    /// Opens a device that a user is about to hold. Throws Error(IsolationFailed), and the ledger
    /// refuses the request; close() then undoes the part that was done.
    virtual void open(Uid user, const DeviceUuid& device) = 0;
    /// Closes a device that no environment of this user holds any more.
    virtual void close(Uid user, const DeviceUuid& device) noexcept = 0;
};

} // namespace genv::core
