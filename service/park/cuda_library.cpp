// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/park/cuda_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace genv::service {

namespace {

using core::CheckpointState;
using core::ParkingCall;
using core::ParkingFault;

struct CudaFunction {
    ParkingCall call;
    const char* name;
};

constexpr std::array<CudaFunction, 5> functions{{
    {ParkingCall::State, "cuCheckpointProcessGetState"},
    {ParkingCall::Lock, "cuCheckpointProcessLock"},
    {ParkingCall::Checkpoint, "cuCheckpointProcessCheckpoint"},
    {ParkingCall::Restore, "cuCheckpointProcessRestore"},
    {ParkingCall::Unlock, "cuCheckpointProcessUnlock"},
}};

const char* nameOf(ParkingCall call) {
    return std::find_if(functions.begin(), functions.end(),
                        [&](const CudaFunction& each) { return each.call == call; })
        ->name;
}

} // namespace

void CudaLibrary::Close::operator()(void* handle) const noexcept {
    ::dlclose(handle);
}

CudaLibrary::CudaLibrary() : handle_(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {}

template <typename Signature>
Signature* CudaLibrary::find(const char* name) const {
    return isLoaded() ? reinterpret_cast<Signature*>(::dlsym(handle_.get(), name)) : nullptr;
}

bool CudaLibrary::hasFunctions() const {
    return std::all_of(functions.begin(), functions.end(), [&](const CudaFunction& each) {
        return find<void()>(each.name) != nullptr;
    });
}

std::string CudaLibrary::version() const {
    auto* const get = find<cuda::DriverGetVersion>("cuDriverGetVersion");
    int version = 0;
    if (get == nullptr || get(&version) != cuda::Result::Success || version <= 0)
        return {};
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::optional<core::ParkingFailure> CudaLibrary::call(core::ParkingCall call, core::Pid pid,
                                                      std::chrono::milliseconds timeout) const {
    if (!isLoaded())
        return core::ParkingFailure{ParkingFault::NoLibrary};
    if (!hasFunctions())
        return core::ParkingFailure{ParkingFault::OldDriver};
    const int target = static_cast<int>(pid);
    auto result = cuda::Result::Success;
    if (call == ParkingCall::State) {
        cuda::ProcessState state{};
        result = find<cuda::CheckpointProcessGetState>(nameOf(call))(target, &state);
    } else if (call == ParkingCall::Lock) {
        cuda::LockArguments arguments{};
        arguments.timeoutMs = static_cast<std::uint32_t>(timeout.count());
        result = find<cuda::CheckpointProcessLock>(nameOf(call))(target, &arguments);
    } else {
        cuda::NoArguments arguments{};
        result = find<cuda::CheckpointProcessChange>(nameOf(call))(target, &arguments);
    }
    return result == cuda::Result::Success ? std::nullopt : std::optional(failureOf(result));
}

std::optional<core::CheckpointState> CudaLibrary::state(core::Pid pid) const {
    auto* const get = find<cuda::CheckpointProcessGetState>(nameOf(ParkingCall::State));
    cuda::ProcessState state{};
    if (get == nullptr || get(static_cast<int>(pid), &state) != cuda::Result::Success)
        return std::nullopt;
    return stateOf(state);
}

core::ParkingFailure failureOf(cuda::Result result) {
    const auto fault = [&] {
        switch (result) {
        case cuda::Result::OutOfMemory:
            return ParkingFault::OutOfMemory;
        case cuda::Result::NotInitialized:
            return ParkingFault::NotInitialized;
        case cuda::Result::OperatingSystem:
            return ParkingFault::NotPermitted;
        case cuda::Result::IllegalState:
            return ParkingFault::IllegalState;
        case cuda::Result::NotReady:
            return ParkingFault::NotReady;
        case cuda::Result::NotSupported:
            return ParkingFault::NotSupported;
        case cuda::Result::Success:
        case cuda::Result::InvalidValue:
        case cuda::Result::NoDevice:
            break;
        }
        return ParkingFault::Driver;
    }();
    return {fault, static_cast<int>(result)};
}

core::CheckpointState stateOf(cuda::ProcessState state) {
    switch (state) {
    case cuda::ProcessState::Running:
        return CheckpointState::Running;
    case cuda::ProcessState::Locked:
        return CheckpointState::Locked;
    case cuda::ProcessState::Checkpointed:
        return CheckpointState::Checkpointed;
    case cuda::ProcessState::Failed:
        return CheckpointState::Failed;
    }
    return CheckpointState::Unknown;
}

} // namespace genv::service
