// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the driver's calls that move a process between GPU and host memory. A helper makes each
// call as the process's own user, outside the service, since the driver talks to the process.
#pragma once

#include "core/base/process.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace genv::core {

/// The call of the driver that a helper makes for one process.
enum class ParkingCall {
    State,      ///< asks, and changes nothing
    Lock,       ///< waits for running CUDA kernels, then holds back the process's calls of CUDA
    Checkpoint, ///< moves the memory of a locked process to the host
    Restore,    ///< moves it back; the process is locked afterwards
    Unlock,     ///< lets the process go on
};

/// What the driver says of a process (cuCheckpointProcessGetState).
enum class CheckpointState { Running, Locked, Checkpointed, Failed, Unknown };

/// Why a helper could not make, or the driver refused, a call.
enum class ParkingFault {
    OldDriver,
    NoLibrary,
    NotInitialized, ///< 3: the process does not use CUDA
    NotSupported,   ///< 801: managed memory, MPS, or a GPU that the process may not open
    NotReady,       ///< 600: the lock timed out
    OutOfMemory,    ///< 2
    IllegalState,   ///< 401
    NotPermitted,   ///< 304: also a lost process
    Container,      ///< another user or PID namespace
    Owner,          ///< uids or gids not all equal, or not the expected owner
    Gone,           ///< the process ended, or its PID was reused
    Deadline,       ///< the helper or its child was killed by its timer
    Driver,         ///< another result, see ParkingFailure::code
    Helper,         ///< no helper, or a wrong answer
};

struct ParkingFailure {
    ParkingFault fault = ParkingFault::Helper;
    int code = 0; ///< the CUresult, where there is one

    friend bool operator==(const ParkingFailure&, const ParkingFailure&) = default;
};

/// The process of a call, and the owner that it must have.
struct ParkingTarget {
    ProcessIdentity process;
    Uid uid = 0;
};

/// The state after the call, or why it failed. A failed call also carries the state if it could be
/// read afterwards.
struct ParkingReply {
    std::optional<CheckpointState> state;
    std::optional<ParkingFailure> failure;
};

/// What the machine can do.
struct ParkingCapability {
    bool library = false;   ///< libcuda could be loaded
    bool functions = false; ///< it has the functions
    std::string driver;     ///< the newest CUDA version of the driver; empty if it is not known
    bool helper = true;     ///< the helper answered; otherwise nothing else is known

    friend bool operator==(const ParkingCapability&, const ParkingCapability&) = default;
};

class Parker {
  public:
    virtual ~Parker() = default;

    /// Makes one call for one process, outside the loop. Answers on the loop, exactly once, also
    /// after the deadline, and never before this returns. `lockTimeout` is only for Lock.
    virtual void call(ParkingCall call, const ParkingTarget& target,
                      std::chrono::milliseconds lockTimeout,
                      std::function<void(const ParkingReply&)> answer) = 0;
    /// Reports what the machine can do. Answers on the loop, exactly once.
    virtual void capability(std::function<void(const ParkingCapability&)> answer) = 0;
};

} // namespace genv::core
