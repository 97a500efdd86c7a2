// SPDX-License-Identifier: LGPL-2.1-or-later
// A frame: everything that genv-top shows at one moment. The collector makes frames, from which the
// rows are made. Texts in a frame are foreign; rows make them safe.
#pragma once

#include "client/jobs/link/reported_jobs.hpp"
#include "genv/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::top {

/// An environment's hold on a GPU.
struct GpuHolder {
    std::string environment;
    std::optional<std::string> name;
    std::string user;
    std::uint32_t uid = 0;
    bool isLingering = false;
    std::string parking;                     ///< "parking" or "resuming"; empty: neither
    bool isOnLoan = false;                   ///< the environment is preemptible
    std::optional<std::uint64_t> shareBytes; ///< unset: the whole GPU
    std::optional<Time> since;
    std::optional<Time> expires;
    std::optional<std::string> parent; ///< the environment that this one is within
};

/// The utilization of the last ten minutes in steps of ten seconds; the last step is now.
inline constexpr std::size_t historySteps = 60;
inline constexpr std::uint8_t unknownStep = 255;
using History = std::array<std::uint8_t, historySteps>;

inline constexpr History unknownHistory = [] {
    History history{};
    for (std::uint8_t& step : history)
        step = unknownStep;
    return history;
}();

struct Gpu {
    std::uint32_t index = 0;
    std::string label; ///< the index, on a cluster after the node
    std::string uuid;
    std::string model;
    std::string pciAddress;
    std::string health = "ok";
    std::optional<std::string> reservedFor;
    std::optional<std::string> lockHolder;
    bool isFree = false;                ///< as the service or Slurm says
    std::uint64_t unaccountedBytes = 0; ///< used memory that no process accounts for
    std::optional<std::uint64_t> totalMemoryBytes;
    std::optional<std::uint64_t> usedMemoryBytes;
    DeviceSensors sensors;
    std::optional<Time> sampledAt;
    History history = unknownHistory;
    std::vector<GpuHolder> holders; ///< oldest first
    std::vector<GpuHolder> parts;   ///< environments within a holder that have it, too
};

/// A process that uses a GPU.
struct Process {
    std::uint32_t pid = 0;
    std::uint32_t uid = 0;
    std::string user;
    std::string program;
    std::optional<std::string> environment; ///< unset: it belongs to none
    std::vector<std::uint32_t> gpus;
    std::optional<std::uint64_t> memoryBytes; ///< on all its GPUs together
    std::optional<std::uint32_t> utilizationPercent;
    std::optional<Time> started;
};

/// A request in the queue.
struct Waiter {
    std::uint64_t ticket = 0;
    std::size_t place = 0; ///< from 1
    std::string environment;
    std::optional<std::string> name;
    std::string user;
    std::uint32_t uid = 0;
    std::string wanted; ///< how many GPUs, on a cluster perhaps "4 shards"
    Time since;
    std::string reason; ///< why it waits, if it is not for devices that others hold
};

/// An environment that is parked, is being parked, or resumes.
struct Parked {
    std::string environment;
    std::uint64_t key = 0; ///< the start of the environment, which identifies its row
    std::optional<std::string> name;
    std::string user;
    std::uint32_t uid = 0;
    std::string state;               ///< "parking", "parked" or "resuming"
    std::vector<std::uint32_t> gpus; ///< that it gave up, or has while it moves
    std::uint64_t memoryBytes = 0;   ///< of the host, that its processes hold
    std::uint64_t movedBytes = 0;
    std::uint64_t bytesToMove = 0; ///< 0: nothing moves
    std::optional<Time> since;
    std::string problem;          ///< empty: none
    std::string reason;           ///< as core::Parking::reason
    std::string takenBy;          ///< the user whose request it is parked for; empty: nobody
    std::optional<Time> expected; ///< when it is expected to go on by itself
};

/// An environment of the user at the terminal.
struct OwnEnvironment {
    std::string id;
    std::optional<std::string> name;
    bool isActive = false; ///< the shell that started genv-top is in it
};

/// The jobs of the person at the terminal on this machine, by number; null or empty: none are
/// known.
using JobRows = std::shared_ptr<const std::vector<jobs::JobRow>>;

struct Frame {
    Time when;
    std::string host;      ///< whose machine it is, where it is not this one
    std::string driver;    ///< its version; empty: none
    std::string isolation; ///< the mode; empty: unknown
    bool isCluster = false;
    std::uint32_t uid = 0;        ///< of the person at the terminal
    std::size_t environments = 0; ///< how many there are
    std::vector<Gpu> gpus;        ///< by index
    std::vector<Process> processes;
    std::vector<Waiter> waiters; ///< in the order of the queue
    std::vector<Parked> parked;
    std::vector<OwnEnvironment> own;
    JobRows jobs;
    /// A sentence about why the frame is not current, or empty.
    std::string trouble;
    bool isEmpty = true; ///< nothing has been read: only `trouble` is to be shown
};

} // namespace genv::top
