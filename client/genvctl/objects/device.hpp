// SPDX-License-Identifier: LGPL-2.1-or-later
// The keys of a device, of which dev.genv.Device.xml defines the sensors, and of an environment's
// hold on it.
#pragma once

#include "client/genvctl/objects/key.hpp"
#include "dbus/contract/sensors.hpp"

#include <algorithm>

namespace genv::ctl::schema {

inline constexpr auto sensors = [] {
    std::array<Key, dbus::contract::sensors.size()> keys{};
    std::ranges::transform(dbus::contract::sensors, keys.begin(), [](const auto& sensor) {
        return Key{sensor.key, "integer", sensor.meaning};
    });
    return keys;
}();

inline constexpr auto device = joined(
    std::array{
        Key{"host", "text", "Host of a remote listing, or node of a Slurm cluster"},
        Key{"index", "integer", "Number on its host"},
        Key{"uuid", "text", "UUID that NVIDIA gave it"},
        Key{"model", "text", "Model; on a cluster, its type in Slurm"},
        Key{"pci_address", "text", "Such as `0000:65:00.0`"},
        Key{"health", "text", "`ok`, `stale`, `lost`, `xid-N`, or the trouble of its node"},
        Key{"free", "boolean", "Whether nothing uses or reserves it"},
        Key{"reserved_for", "text", "`slurm` if only Slurm jobs get it"},
        Key{"locked_by", "text", "Environment that holds its lock"},
        Key{"total_memory_bytes", "integer", "All its memory"},
        Key{"used_memory_bytes", "integer", "Memory in use"},
        Key{"unaccounted_memory_bytes", "integer", "Memory in use by no process"},
    },
    sensors,
    std::array{
        Key{"sampled", "time", "Time of these readings"},
        Key{"attachments", "list of attachment", "Its holders, oldest first, then nested ones"},
        Key{"parked", "list of attachment", "Holds that parked environments gave up"},
        Key{"outside", "list of process", "Processes on it that are in no environment"},
    });

inline constexpr std::array attachment{
    Key{"environment", "text", "ID of the environment"},
    Key{"name", "text", "Name of the environment"},
    Key{"uid", "integer", "Owner"},
    Key{"user", "text", "Name of the owner"},
    Key{"host", "text", "Node of a Slurm cluster"},
    Key{"device", "integer", "Index of the device"},
    Key{"gpu_memory_bytes", "integer", "Share of its memory; null for the whole device"},
    Key{"shared", "boolean", "Whether the job in Slurm holds only a part of it"},
    Key{"shards", "integer", "Number of shards in Slurm"},
    Key{"since", "time", "When it was attached"},
    Key{"expires", "time", "End of the lease"},
    Key{"lingering", "boolean", "Whether only processes on GPUs keep the environment"},
    Key{"preemptible", "text", "`no`, `park` or `end`"},
    Key{"parent", "text", "Environment that this one is nested in"},
};

} // namespace genv::ctl::schema
