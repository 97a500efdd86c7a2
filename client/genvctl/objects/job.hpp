// SPDX-License-Identifier: LGPL-2.1-or-later
// The keys of a job, of its tasks, and of a job that it waits for.
#pragma once

#include "client/genvctl/objects/key.hpp"

namespace genv::ctl::schema {

inline constexpr std::array job{
    Key{"job", "integer", "Number"},
    Key{"machine", "text", "ID of another machine that shares the home"},
    Key{"name", "text", "Name"},
    Key{"state", "text", "`waiting`, `held`, `running`, `done`, `failed`, `lost` or `canceled`"},
    Key{"reason", "text", "Why it waits, or how it ended"},
    Key{"expected_start", "time", "Expected end of the wait"},
    Key{"command", "text", "Command, shortened"},
    Key{"gpus", "integer", "GPUs of each task"},
    Key{"array", "boolean", "Whether it is an array"},
    Key{"tasks", "integer", "Number of its tasks"},
    Key{"waiting", "integer", "Tasks that wait"},
    Key{"running", "integer", "Tasks that run"},
    Key{"done", "integer", "Tasks that succeeded"},
    Key{"failed", "integer", "Tasks that failed or were lost"},
    Key{"canceled", "integer", "Canceled tasks"},
    Key{"submitted", "time", "When it was submitted"},
    Key{"started", "time", "Start of the first task"},
    Key{"ended", "time", "End of the last task"},
    Key{"status", "integer", "Exit status of its worst task; 128 + N for signal N"},
    Key{"words", "list of text", "Command"},
    Key{"folder", "text", "Folder in which it runs"},
    Key{"output", "text", "File for its output; null for its log"},
    Key{"after", "list of dependency", "Jobs that it waits for"},
    Key{"begin", "time", "Earliest start"},
    Key{"priority", "integer", "Among the jobs of its user"},
    Key{"retries", "integer", "Further attempts of a task that fails"},
    Key{"parallel", "integer", "Limit of tasks at once"},
    Key{"cpus", "integer", "Limit of processors"},
    Key{"memory_bytes", "integer", "Limit of host memory"},
    Key{"model", "text", "Requested model of GPU"},
    Key{"gpu_memory_bytes", "integer", "Requested share of each GPU"},
    Key{"preemptible", "text", "Whether its GPUs are on loan: `no`, `park` or `end`"},
    Key{"lifetime_seconds", "integer", "Requested lease"},
    Key{"task_list", "list of task", "Its tasks"},
};

inline constexpr std::array task{
    Key{"task", "integer", "Number in the array; 0 for a job that is no array"},
    Key{"value", "text", "Its value in the array"},
    Key{"state", "text", "As of a job"},
    Key{"reason", "text", "As of a job"},
    Key{"attempts", "integer", "Attempts that began"},
    Key{"environment", "text", "Its environment while it waits for GPUs or runs"},
    Key{"devices", "list of text", "UUIDs of its GPUs; on a cluster `NODE:INDEX`"},
    Key{"started", "time", "Start of the last attempt"},
    Key{"ended", "time", "End"},
    Key{"status", "integer", "Exit status"},
    Key{"signal", "integer", "Signal that ended it"},
    Key{"gpu_seconds", "integer", "GPUs times seconds, of all attempts"},
    Key{"peak_memory_bytes", "integer", "Most GPU memory of any sample"},
    Key{"log", "text", "Path of its log"},
};

inline constexpr std::array dependency{
    Key{"job", "integer", "Number of the other job"},
    Key{"condition", "text", "`ok`, `fail` or `any` end of it"},
};

} // namespace genv::ctl::schema
