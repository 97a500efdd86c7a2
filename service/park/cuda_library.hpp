// SPDX-License-Identifier: LGPL-2.1-or-later
// Loads the machine's libcuda, and makes one call of it for another process. The library reads what
// that process wrote, so only a process without rights of its own loads it (park_child.hpp).
#pragma once

#include "core/ports/parker.hpp"
#include "service/park/cuda_abi.hpp"

#include <chrono>
#include <memory>
#include <optional>

namespace genv::service {

class CudaLibrary {
  public:
    /// Loads libcuda.so.1, if there is one.
    CudaLibrary();

    [[nodiscard]] bool isLoaded() const { return handle_ != nullptr; }
    /// Returns whether the library has all functions for parking.
    [[nodiscard]] bool hasFunctions() const;
    /// Returns the newest version of CUDA that the driver supports, such as "13.0". Empty if the
    /// library does not tell.
    [[nodiscard]] std::string version() const;

    /// Makes a call. Returns nothing if it succeeded.
    [[nodiscard]] std::optional<core::ParkingFailure> call(core::ParkingCall call, core::Pid pid,
                                                           std::chrono::milliseconds timeout) const;
    /// Returns the state of a process, or nothing if the library does not tell it.
    [[nodiscard]] std::optional<core::CheckpointState> state(core::Pid pid) const;

  private:
    struct Close {
        void operator()(void* handle) const noexcept;
    };
    template <typename Signature>
    [[nodiscard]] Signature* find(const char* name) const;

    std::unique_ptr<void, Close> handle_;
};

/// Returns what a result of the driver means.
core::ParkingFailure failureOf(cuda::Result result);

/// Returns what a state of the driver means. States of newer drivers are Unknown.
core::CheckpointState stateOf(cuda::ProcessState state);

} // namespace genv::service
