// SPDX-License-Identifier: LGPL-2.1-or-later
// The keys of an event, from the history or as it happens.
#pragma once

#include "client/genvctl/objects/key.hpp"

namespace genv::ctl::schema {

inline constexpr std::array event{
    Key{"time", "time", "When it happened"},
    Key{"event", "text", "Its kind"},
    Key{"environment", "text", "Environment that it affects"},
    Key{"parent", "text", "Environment that this one is nested in"},
    Key{"job", "integer", "Job of the environment, of genv or of Slurm"},
    Key{"name", "text", "Name of the environment"},
    Key{"uid", "integer", "Owner, or recipient of a notice"},
    Key{"user", "text", "Name of the owner"},
    Key{"devices", "list of integer", "Indices of the devices at that time"},
    Key{"uuids", "list of text", "Their UUIDs"},
    Key{"model", "text", "Their model"},
    Key{"gpu_memory_bytes", "integer", "Share of the device; null for the whole device"},
    Key{"over_subscribed", "boolean", "Whether another environment holds the device, too"},
    Key{"reason", "text", "Such as `admin` or `lifetime`"},
    Key{"caller", "integer", "User who caused it; 0 is also the service"},
    Key{"caller_user", "text", "Name of this user"},
    Key{"caller_login", "integer", "User who acted as root"},
    Key{"caller_login_user", "text", "Name of this user"},
    Key{"method", "text", "Refused method"},
    Key{"action", "text", "Action that polkit refused"},
    Key{"error", "text", "Name of the error"},
    Key{"pid", "integer", "Process"},
    Key{"program", "text", "Name of this process"},
    Key{"rule", "text", "Rule that acted"},
    Key{"health", "text", "Health of the device"},
    Key{"count", "integer", "GPUs of the request"},
    Key{"waited_seconds", "number", "Time in the queue"},
    Key{"held_seconds", "number", "Time for which the device was attached"},
    Key{"left_seconds", "number", "Time until a lease ends or a rule acts"},
    Key{"since", "time", "When the reported state began"},
    Key{"settings", "text", "Changed settings"},
    Key{"notice", "text", "Kind of a notice to the owner"},
    Key{"details", "texts", "Values of this notice"},
    Key{"message", "text", "Sentence for people"},
    Key{"cursor", "text", "Position in the history"},
};

} // namespace genv::ctl::schema
