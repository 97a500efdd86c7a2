// SPDX-License-Identifier: LGPL-2.1-or-later
// Placement: which devices a request gets. A pure function of the request, the environment that
// asks and what is held, so that the same question always has the same answer; all or nothing.
#pragma once

#include "core/device_table.hpp"
#include "core/environment.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace genv::core {

/// So many devices, whichever are best; with a model, so many of that model.
struct CountWanted {
    std::uint32_t count = 0;
};

/// These devices, beside what is attached.
struct IndicesWanted {
    std::vector<DeviceIndex> indices;
};

/// This device, beside what is attached.
struct UuidWanted {
    DeviceUuid uuid;
};

/// What an Attach asks for.
struct AttachRequest {
    std::variant<CountWanted, IndicesWanted, UuidWanted> wanted;
    std::optional<std::string> model; ///< part of the model's name, in any case
    std::optional<Bytes> share;       ///< of each device's memory; unset: whole devices
    bool overSubscribe = false;       ///< also devices that others hold
};

/// What a request would do: the very devices, so that what was authorised is what is done.
struct Placement {
    struct Device {
        DeviceFacts facts;
        bool overSubscribed = false; ///< somebody else holds it
        bool occupied = false;       ///< a process of none of its environments runs on it
    };
    std::vector<Device> attach;
    std::vector<DeviceUuid> detach; ///< the surplus of a smaller count
    std::optional<Bytes> share;

    /// What the environment held when this was worked out; another state makes it stale.
    std::vector<DeviceUuid> basis;

    [[nodiscard]] bool overSubscribes() const;
};

/// Works out what a request gets. `environment` is null for one that does not exist yet. Throws
/// Error: NoSuchDevice, NotEnoughDevices (more than the machine has), DeviceUnavailable (others
/// hold them), InvalidArgs.
Placement place(const AttachRequest& request, const DeviceTable& devices,
                const Environment* environment);

/// Whether a placement that was worked out before still gives exactly what it says, in the table as
/// it is now.
bool stillHolds(const Placement& placement, const DeviceTable& devices,
                const Environment* environment);

} // namespace genv::core
