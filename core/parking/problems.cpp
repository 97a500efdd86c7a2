// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/parking/problems.hpp"

#include "core/sentences/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace genv::core {

namespace {

/// `{0}` is the process, `{1}` the number of the driver's result.
struct ProblemRow {
    ParkingFault fault;
    std::string_view text;
};

constexpr std::string_view oldDriver =
    "the GPU driver cannot park processes; parking needs NVIDIA driver 570 or later";
constexpr std::string_view noLibrary =
    "the driver's library libcuda.so.1 cannot be loaded; ask an administrator to install it";

constexpr std::array problems{
    ProblemRow{ParkingFault::OldDriver, oldDriver},
    ProblemRow{ParkingFault::NoLibrary, noLibrary},
    ProblemRow{ParkingFault::NotInitialized,
               "{0} uses a GPU without CUDA, which the driver cannot move; end it first"},
    ProblemRow{ParkingFault::NotSupported,
               "the driver cannot move {0}: it uses managed memory (cudaMallocManaged), MPS, or "
               "memory shared with other processes (CUDA IPC); end it, or run it without these"},
    ProblemRow{ParkingFault::NotReady,
               "{0} runs a kernel that takes longer than LockTimeout; try again when it has "
               "finished"},
    ProblemRow{ParkingFault::OutOfMemory, "there is not enough memory for {0}"},
    ProblemRow{ParkingFault::IllegalState,
               "another program, such as cuda-checkpoint, has locked or moved {0}; let it go on "
               "with that program first"},
    ProblemRow{
        ParkingFault::NotPermitted,
        "the driver does not permit to move {0}: it is root's, protects its memory from other "
        "processes, or was lost by an earlier restore; end it first"},
    ProblemRow{ParkingFault::Container,
               "{0} runs in a container with users or PIDs of its own, where the driver cannot "
               "move it; run it outside of the container"},
    ProblemRow{ParkingFault::Owner,
               "{0} does not run with the uid and gid of the environment's owner alone; end it "
               "first"},
    ProblemRow{ParkingFault::Gone, "{0} ended meanwhile; try again"},
    ProblemRow{ParkingFault::Deadline,
               "the driver did not answer in time for {0}; try again, or end the process"},
    ProblemRow{ParkingFault::Driver, "the driver cannot move {0} (CUDA error {1}); end it first"},
    ProblemRow{ParkingFault::Helper,
               "the helper genv-park did not answer for {0}; ask an administrator to look at "
               "\"journalctl -u 'genv-park*'\""},
};

constexpr std::string_view noHelper =
    "the helper genv-park does not answer; ask an administrator to look at \"journalctl -u "
    "'genv-park*'\"";

constexpr std::string_view noRoom =
    "the driver could not restore {0}, for want of memory on its GPU";

std::string_view textOf(ParkingFault fault) {
    return std::ranges::find(problems, fault, &ProblemRow::fault)->text;
}

} // namespace

std::string nameProcess(const ParkedProcess& process) {
    return nameProcesses({{process.identity.pid, process.command}});
}

std::string describeProblem(ParkingCall call, const ParkingFailure& failure,
                            const ParkedProcess& process) {
    const bool lacksRoom =
        call == ParkingCall::Restore && failure.fault == ParkingFault::OutOfMemory;
    return fmt::format(fmt::runtime(lacksRoom ? noRoom : textOf(failure.fault)),
                       nameProcess(process), failure.code);
}

std::string capabilityProblem(const ParkingCapability& capability) {
    if (!capability.helper)
        return std::string(noHelper);
    if (!capability.library)
        return std::string(noLibrary);
    return capability.functions ? std::string() : std::string(oldDriver);
}

} // namespace genv::core
