// SPDX-License-Identifier: LGPL-2.1-or-later
// What isolation knows about a process on a GPU: by whose grant the process may use it. The kernel
// checks this when a device node is opened. Rules check it again later, since nothing takes an open
// descriptor away from a process.
#pragma once

#include "core/base/process.hpp"
#include "core/model/device.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace genv::core {

struct ObservedProcess;

/// The use of a device that isolation guards.
struct GuardedUse {
    DeviceUuid device;
    std::optional<Uid> holder; ///< the user whose grant permits the use; unset: there is none
};

/// Returns the uses of guarded devices by a process. There are none for processes with a uid of
/// root, processes of exempt users, and while isolation refuses nothing.
using GuardedUses = std::function<std::vector<GuardedUse>(const ObservedProcess& process)>;

} // namespace genv::core
