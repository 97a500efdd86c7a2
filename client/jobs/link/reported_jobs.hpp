// SPDX-License-Identifier: LGPL-2.1-or-later
// What genv-jobs tells about jobs and their tasks. dev.genv.Jobs.xml describes each member.
#pragma once

#include "client/jobs/model/job.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace genv::jobs {

/// A job in the list.
struct JobRow {
    JobNumber number = 0;
    std::string name;
    std::string state;          ///< waiting, held, running, done, failed, lost or canceled
    std::string reason;         ///< why it waits, how it ended, or that it is parked; may be empty
    std::uint64_t expected = 0; ///< start; all times are in µs since the epoch, 0 = unknown or none
    std::string command;        ///< shortened, printable
    std::uint32_t gpus = 0;
    std::uint32_t tasks = 0;
    std::uint32_t waiting = 0;
    std::uint32_t running = 0;
    std::uint32_t done = 0;
    std::uint32_t failed = 0; ///< lost ones included
    std::uint32_t canceled = 0;
    bool isArray = false;
    std::uint64_t submitted = 0;
    std::uint64_t started = 0;
    std::uint64_t ended = 0;
    std::int32_t status = -1; ///< of the worst task; 128 + N for signal N, -1 = none yet

    /// Whether no task waits or runs.
    [[nodiscard]] bool hasEnded() const { return waiting == 0 && running == 0; }
};

/// The GPUs that a job asks for: options of Activate. Unset ones are not sent.
struct GpuRequest {
    std::optional<std::uint32_t> gpus;
    std::optional<std::uint64_t> gpuMemoryBytes;
    std::vector<std::uint32_t> indices;
    std::vector<std::string> uuids;
    std::optional<std::string> model;
    bool overSubscribe = false;
    bool overSubscribable = false;
    std::optional<std::string> preemptible; ///< "park" or "end"
    std::optional<std::uint64_t> lifetimeSeconds;
};

/// Everything about a job.
struct JobDescription : JobRow {
    std::vector<std::string> words; ///< of the command
    std::string folder;
    std::string output; ///< empty: the log
    GpuRequest request;
    std::vector<Dependency> after;
    std::uint32_t retries = 0;
    std::int32_t priority = 0;
    std::uint64_t begin = 0;
    std::uint32_t parallel = 0; ///< 0 = any number
    std::uint32_t cpus = 0;     ///< 0 = no limit
    std::uint64_t memory = 0;   ///< bytes; 0 = no limit
};

/// A task of a job.
struct TaskRow {
    std::uint32_t number = 0;
    std::string value;
    std::string state; ///< as of a job
    std::string reason;
    std::uint32_t attempts = 0;
    std::string environment;          ///< id, while it waits in the queue or runs
    std::vector<std::string> devices; ///< UUIDs
    std::uint64_t started = 0;
    std::uint64_t ended = 0;
    std::int32_t status = -1;
    std::int32_t signal = 0;
    std::uint64_t gpuSeconds = 0;
    std::uint64_t peakMemory = 0; ///< bytes; 0 = unknown
    std::string log;              ///< path

    [[nodiscard]] bool isWaiting() const { return state == "waiting" || state == "held"; }
    [[nodiscard]] bool hasEnded() const { return !isWaiting() && state != "running"; }
};

} // namespace genv::jobs
