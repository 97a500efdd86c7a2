// SPDX-License-Identifier: LGPL-2.1-or-later
// A control group, a BPF file system and device nodes of a test's own, in which the gate's program
// applies only to the test's children.
#pragma once

#include "core/base/descriptor.hpp"
#include "core/base/process.hpp"
#include "core/model/device.hpp"
#include "service/isolation/gate_maps.hpp"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>

namespace genv::tests {

/// Returns why this machine does not permit tests of the gate; empty if it does.
std::string whyNoGate();
/// Returns whether refusals contain the PID and the name of the process: since Linux 6.1.
bool kernelReportsProcess();
/// Returns whether this process has the machine's initial PID namespace, so that it uses the same
/// PIDs as the gate.
bool isInFirstPidNamespace();

/// Drops all other capabilities of this process for good. Throws std::runtime_error.
void keepOnlyCapabilities(std::initializer_list<int> capabilities);

/// The major number of NVIDIA's driver, with minor numbers that no GPU has, so that no driver
/// answers.
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

    /// Returns the path for the gate's pinned maps: a folder in a BPF file system, which does not
    /// exist yet.
    [[nodiscard]] std::filesystem::path pins() const { return folder_ / "bpf" / "genv"; }
    [[nodiscard]] const std::filesystem::path& controlGroup() const { return group_; }
    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

    /// Writes a file below folder().
    void write(const std::string& name, const std::string& text) const;

    /// Creates and pins the maps, and attaches the program in refusing mode with one guarded major
    /// number.
    void putUpGate(std::uint32_t major) const;

    /// Runs a function in a child with this real uid in the control group. Returns its result: at
    /// most 255.
    int inGroup(core::Uid uid, const std::function<int()>& act,
                std::optional<core::Uid> effective = std::nullopt) const;

    enum class Opening { LetThrough, Refused, Failed };
    /// Returns the result of open(2) of a device node by a user.
    Opening open(core::DeviceNode node, core::Uid uid,
                 std::optional<core::Uid> effective = std::nullopt) const;

    /// Returns the same after the removal of the gate, which takes effect in the kernel a moment
    /// later. Repeats a refused open, at most a thousand times.
    Opening openWithoutGate(core::DeviceNode node, core::Uid uid) const;

    /// Returns the path of a node of the test's own, which the first call creates.
    [[nodiscard]] std::filesystem::path pathOf(core::DeviceNode node) const;

  private:
    std::filesystem::path folder_;
    std::filesystem::path group_;
};

/// Returns the result of open(2) of a path.
GateMachine::Opening tryToOpen(const std::filesystem::path& path);

} // namespace genv::tests
