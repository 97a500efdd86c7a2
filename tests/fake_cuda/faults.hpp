// SPDX-License-Identifier: LGPL-2.1-or-later
// Faults of the fake libcuda, read from files at each call. A test changes a file by renaming
// another one over it.
//
// In a process that uses CUDA, the variable FAKE_CUDA_FAULTS names a file for this process alone:
//
// {"cuCheckpointProcessLock": 801, "cuCheckpointProcessCheckpoint": "hang",
//  "cuCheckpointProcessGetState": {"state": 7},
//  "cuCheckpointProcessRestore": {"result": 2, "lost": true, "delay": 500}}
//
// A number is the result of a call that then has no effect. "hang" waits until the file says
// something else, and then goes on. "delay" waits for that many milliseconds first. "lost" is the
// fault of the real driver: every later call for this process fails with 304.
//
// cuda.json beside the machine's file (tests/fake_nvml/machine.hpp) has the same for all processes
// in "target". In "caller", it has faults of the library in the process that makes the call: a
// result, "hang", "crash", or "print", which writes to standard output. The function
// "load" is the loading of the library.
//
// The variable FAKE_CUDA_CALLS of the target names a file to which it adds the name of each call
// that begins, and the line "end" when it has ended.
#pragma once

#include "tests/fake_cuda/channel.hpp"

#include <chrono>
#include <filesystem>
#include <optional>

namespace genv::fake_cuda {

/// Returns the folder of the machine's file.
std::filesystem::path machineFolder();

struct TargetFault {
    std::optional<int> result;
    std::optional<int> state;
    bool isLost = false;
};

/// Waits as long as the files say, and returns what else they say. Called in the target.
TargetFault awaitFault(Call call);

/// Adds a line to the file of calls, if there is one.
void noteCall(const char* line);

/// Hangs, crashes or prints if the file says so, and returns the result that it gives, if any.
/// Called in the caller.
std::optional<int> callerFault(const char* function);

} // namespace genv::fake_cuda
