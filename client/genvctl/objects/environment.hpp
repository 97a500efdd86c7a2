// SPDX-License-Identifier: LGPL-2.1-or-later
// The keys of an environment.
#pragma once

#include "client/genvctl/objects/key.hpp"

namespace genv::ctl::schema {

inline constexpr std::array environment{
    Key{"id", "text", "ID"},
    Key{"host", "text", "Host of a remote listing, or nodes of a Slurm cluster"},
    Key{"uid", "integer", "Owner"},
    Key{"user", "text", "Name of the owner"},
    Key{"name", "text", "Name"},
    Key{"job", "integer", "Number of its job, of genv or of Slurm"},
    Key{"created", "time", "Start"},
    Key{"state", "text", "`active`, `parking`, `parked` or `resuming`"},
    Key{"lingering", "boolean", "Whether only processes on GPUs keep it"},
    Key{"pids", "list of integer", "Processes that keep it"},
    Key{"kernels", "list of text", "Jupyter kernels that keep it"},
    Key{"parent", "text", "Environment that it is nested in"},
    Key{"devices", "list of integer", "Indices of its devices; null on a cluster"},
    Key{"parked_devices", "list of integer", "Indices of the devices that it gave up"},
    Key{"attachments", "list of attachment", "Its holds on devices"},
    Key{"gpus", "integer", "Number of GPUs in its configuration"},
    Key{"gpu_memory_bytes", "integer", "Share of each device in its configuration"},
    Key{"over_subscribable", "boolean", "Whether other users may share its devices"},
    Key{"preemptible", "text", "`no`, `park` or `end`"},
    Key{"expires", "time", "End of the first lease"},
    Key{"used_memory_bytes", "integer", "GPU memory of its processes"},
    Key{"parked_memory_bytes", "integer", "Host memory for its parked GPU memory"},
    Key{"moved_bytes", "integer", "Moved so far, while it parks or resumes"},
    Key{"bytes_to_move", "integer", "To move in all"},
    Key{"parked_since", "time", "When it was parked"},
    Key{"parked_reason", "text", "`user`, `admin`, `taken`, `idle` or `expired`"},
    Key{"taken_by", "text", "User for whose request it is parked"},
    Key{"expected_resume", "time", "When it is expected to resume by itself"},
    Key{"parking_problem", "text", "Why it cannot park or resume, and the remedy"},
};

} // namespace genv::ctl::schema
