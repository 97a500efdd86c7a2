// SPDX-License-Identifier: LGPL-2.1-or-later
// How the fake libcuda of one process commands that of another, with the rights that the real one
// needs and no others: the target has a thread whose name tells the numbers of two pipes, which the
// caller opens in /proc/PID/fd. The kernel permits that to the owner of the target, and to root.
#pragma once

#include <cstdint>

namespace genv::fake_cuda {

enum class Call : std::uint32_t { GetState, Lock, Checkpoint, Restore, Unlock };

/// Returns the name of the function, as in the file of faults.
constexpr const char* nameOf(Call call) {
    switch (call) {
    case Call::GetState:
        return "cuCheckpointProcessGetState";
    case Call::Lock:
        return "cuCheckpointProcessLock";
    case Call::Checkpoint:
        return "cuCheckpointProcessCheckpoint";
    case Call::Restore:
        return "cuCheckpointProcessRestore";
    case Call::Unlock:
        return "cuCheckpointProcessUnlock";
    }
    return "";
}

/// Pipes write and read these at once. The caller locks the pipe of commands, with flock(2), until
/// it has its reply. It drops replies to others, who ended before they read them.
struct Command {
    std::uint64_t id;
    Call call;
    std::uint32_t timeoutMs; ///< of Lock; 0 means none
};

struct Reply {
    std::uint64_t id;
    std::int32_t result;
    std::int32_t state;
};

/// The name of the thread is this, followed by the two descriptors.
inline constexpr const char* threadName = "cuda-ckpt %d %d";

} // namespace genv::fake_cuda
