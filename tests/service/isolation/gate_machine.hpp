// SPDX-License-Identifier: LGPL-2.1-or-later
// A control group, a BPF file system and device nodes of a test's own, in which the gate's program
// decides about the test's children and about nobody else.
#pragma once

#include "core/descriptor.hpp"
#include "core/device.hpp"
#include "core/process.hpp"
#include "service/isolation/gate_maps.hpp"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>

namespace genv::tests {

/// Why this machine lets nobody try the gate; empty where it does.
std::string whyNoGate();
/// Whether refusals have the number and the name of the process: since Linux 6.1.
bool kernelTellsTheProcess();
/// Whether this process has the machine's own PID namespace, so that the gate and it number
/// processes alike.
bool isInFirstPidNamespace();

/// Of this process, of which no other may be gained again. Throws std::runtime_error.
void keepOnlyCapabilities(std::initializer_list<int> capabilities);

/// Of NVIDIA's driver, with numbers that no GPU has, so that no driver answers.
inline constexpr std::uint32_t gpuMajor = 195;
inline constexpr core::DeviceNode gpu{gpuMajor, 200};
inline constexpr core::DeviceNode otherGpu{gpuMajor, 201};

class GateMachine {
  public:
    /// Throws std::runtime_error.
    GateMachine();
    GateMachine(const GateMachine&) = delete;
    GateMachine& operator=(const GateMachine&) = delete;
    ~GateMachine();

    /// Where the gate's maps are pinned: a folder in a BPF file system, which is not there yet.
    [[nodiscard]] std::filesystem::path pins() const { return folder_ / "bpf" / "genv"; }
    [[nodiscard]] const std::filesystem::path& controlGroup() const { return group_; }
    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

    /// Writes a file below folder().
    void write(const std::string& name, const std::string& text) const;

    /// Makes maps, pins them, and attaches the program in refusing mode with one major number
    /// guarded.
    void putUpGate(std::uint32_t major) const;

    /// Runs something in a child with this real uid in the control group, and returns what that
    /// returns: at most 255.
    int inGroup(core::Uid uid, const std::function<int()>& act,
                std::optional<core::Uid> effective = std::nullopt) const;

    enum class Opening { LetThrough, Refused, Failed };
    /// How open(2) of a device node ends for a user.
    Opening open(core::DeviceNode node, core::Uid uid,
                 std::optional<core::Uid> effective = std::nullopt) const;

    /// The same after the gate was taken away, which the kernel does a moment later: tried again
    /// for as long as it is refused, a thousand times at most.
    Opening openWithoutGate(core::DeviceNode node, core::Uid uid) const;

    /// A node of the test's own, made at the first call.
    [[nodiscard]] std::filesystem::path pathOf(core::DeviceNode node) const;

  private:
    std::filesystem::path folder_;
    std::filesystem::path group_;
};

/// What open(2) of a path ended with, of a kind.
GateMachine::Opening tryToOpen(const std::filesystem::path& path);

} // namespace genv::tests
