// SPDX-License-Identifier: LGPL-2.1-or-later
// The part of the CUDA driver's binary interface that parking uses: NVIDIA's functions that move
// the GPU memory of a process to host memory and back. It is declared here so that a build needs no
// file from NVIDIA. The file has declarations only, and each comment gives CUDA's name. The layouts
// are those of 64-bit Linux and are checked with static assertions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace genv::service::cuda {

/// CUresult. A driver may return values that are not listed.
enum class Result : int {
    Success = 0,
    InvalidValue = 1,
    OutOfMemory = 2,
    NotInitialized = 3,
    NoDevice = 100,
    IllegalState = 401,
    NotReady = 600,
    NotSupported = 801,
    OperatingSystem = 304,
};

/// CUprocessState. Newer drivers have more states.
enum class ProcessState : int {
    Running = 0,
    Locked = 1,
    Checkpointed = 2,
    Failed = 3,
};

/// The arguments of a call are larger than those of any known driver, and zero beyond the known
/// members, so a newer driver with larger structures reads no foreign memory.
inline constexpr std::size_t argumentsSize = 128;

/// CUcheckpointLockArgs, followed by zeros.
struct LockArguments {
    std::uint32_t timeoutMs; ///< 0 means no timeout
    std::uint32_t reserved0;
    std::uint64_t reserved1[15];
};
static_assert(sizeof(LockArguments) == argumentsSize && offsetof(LockArguments, timeoutMs) == 0);

/// CUcheckpointCheckpointArgs and CUcheckpointUnlockArgs, and CUcheckpointRestoreArgs without pairs
/// of GPUs: all zero.
struct NoArguments {
    std::uint64_t reserved[16];
};
static_assert(sizeof(NoArguments) == argumentsSize);

/// cuDriverGetVersion: 1000 times the major version of CUDA, plus 10 times the minor one.
using DriverGetVersion = Result(int* version);
/// cuCheckpointProcessGetState
using CheckpointProcessGetState = Result(int pid, ProcessState* state);
/// cuCheckpointProcessLock
using CheckpointProcessLock = Result(int pid, LockArguments* arguments);
/// cuCheckpointProcessCheckpoint, cuCheckpointProcessRestore and cuCheckpointProcessUnlock
using CheckpointProcessChange = Result(int pid, NoArguments* arguments);

} // namespace genv::service::cuda
