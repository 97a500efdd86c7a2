// SPDX-License-Identifier: LGPL-2.1-or-later
// The keys of a request in the queue, of the quota that holds it back, and of the taking for it.
#pragma once

#include "client/genvctl/objects/key.hpp"

namespace genv::ctl::schema {

inline constexpr std::array wait{
    Key{"position", "integer", "From 1, in the order of the queue"},
    Key{"ticket", "integer", "Number for `queue --cancel`; on a cluster, of the job"},
    Key{"environment", "text", "Environment that waits"},
    Key{"name", "text", "Name of the environment"},
    Key{"uid", "integer", "Owner"},
    Key{"user", "text", "Name of the owner"},
    Key{"gpus", "integer", "GPUs that it waits for"},
    Key{"shards", "integer", "Shards that it waits for in Slurm"},
    Key{"since", "time", "When the wait began"},
    Key{"expected_start", "time", "Expected end of the wait"},
    Key{"parent", "text", "Environment whose devices it waits for"},
    Key{"preemptible", "text", "Whether its devices will be on loan: `no`, `park` or `end`"},
    Key{"resumes", "boolean", "Whether a parked environment waits to resume"},
    Key{"waits_for", "text", "`devices`, `earlier-requests` or `quota`"},
    Key{"reason", "text", "Reason in Slurm, or the problem of the last taking"},
    Key{"quota", "quota", "Limit that holds it back"},
    Key{"taking", "taking", "Environments that are parked for it"},
    Key{"order", "text", "Order of the queue: `fifo` or `fair`"},
    Key{"use_gpu_seconds", "number", "Use of its user; older use counts less"},
    Key{"weight", "integer", "Weight of its user"},
    Key{"priority", "integer", "Among the requests of its user"},
    Key{"overtakings", "integer", "How often others were served first while it was next"},
    Key{"first_since", "time", "Since when it is the next request of its user"},
};

inline constexpr std::array quota{
    Key{"limit", "text", "Its key in genvd.conf"},
    Key{"used", "integer", "Use without the request; memory in bytes"},
    Key{"allowed", "integer", "The limit"},
};

inline constexpr std::array taking{
    Key{"environments", "list of environment", "With ID, name, user and the bytes to move"},
    Key{"devices", "list of integer", "Devices for the request"},
    Key{"estimate_seconds", "number", "Duration of the move"},
    Key{"deadline", "time", "If it takes longer, the environments go on"},
};

} // namespace genv::ctl::schema
