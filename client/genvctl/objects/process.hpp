// SPDX-License-Identifier: LGPL-2.1-or-later
// The keys of a process that uses a GPU.
#pragma once

#include "client/genvctl/objects/key.hpp"

namespace genv::ctl::schema {

inline constexpr std::array process{
    Key{"pid", "integer", "PID"},
    Key{"uid", "integer", "Owner"},
    Key{"user", "text", "Name of the owner"},
    Key{"program", "text", "Name of the process"},
    Key{"environment", "text", "Its environment"},
    Key{"devices", "list of integer", "Indices of the devices that it uses"},
    Key{"used_memory_bytes", "integer", "GPU memory in use"},
    Key{"utilization_percent", "integer", "Time in which its busiest device worked for it"},
    Key{"started", "time", "Start"},
};

} // namespace genv::ctl::schema
