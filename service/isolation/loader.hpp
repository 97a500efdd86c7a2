// SPDX-License-Identifier: LGPL-2.1-or-later
// Sets up the gate that guards GPU device nodes, replaces it by a newer one without a gap, and
// removes it. Setting it up needs CAP_BPF and CAP_NET_ADMIN, and CAP_PERFMON to record the process
// of a refusal.
#pragma once

#include "core/ports/gates.hpp"
#include "service/isolation/gate_maps.hpp"
#include "service/isolation/identity_map.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace genv::service::isolation {

/// The desired state of the gate.
struct GatePlan {
    core::GateMode mode = core::GateMode::Refuse;
    std::vector<std::uint32_t> majors; ///< of the guarded devices; all others are open
    std::vector<IdentityBlock> identities;
    /// The guarded nodes of GPUs among those of DRM, which are otherwise open. Unset: none is
    /// guarded, not even those that the service finds later.
    std::optional<std::vector<core::DeviceNode>> renderNodes{};
    std::vector<core::DeviceNode> open{}; ///< nodes of guarded majors that give access to no GPU
};

/// The result of setting up the gate.
struct GateState {
    bool wasReplaced = false; ///< a previous gate existed; its grants were kept
    bool isSuspended = false; ///< opened by an administrator until the next boot, so it stays open
};

class Loader {
  public:
    /// `pins` is a folder in a BPF file system; the loader creates it. The gate applies to the
    /// processes of `controlGroup` and of all groups below it.
    Loader(std::filesystem::path pins, std::filesystem::path controlGroup);

    /// Sets up the gate. Throws BpfError or std::filesystem::filesystem_error. If the kernel does
    /// not load the program, nothing has changed. If the kernel loads the program and does not
    /// attach it, the previous program stays and uses the new plan.
    GateState putUp(const GatePlan& plan) const;

    /// Checks that the kernel loads the program here, and changes nothing. Throws BpfError.
    static void tryToLoad();

    /// Removes the gate. Returns whether there was one. Throws std::filesystem::filesystem_error.
    [[nodiscard]] bool takeDown() const;

  private:
    void makeFolder() const;
    [[nodiscard]] bool attach(int program) const;
    [[nodiscard]] bool replaceAttached(int program) const;

    std::filesystem::path pins_;
    std::filesystem::path controlGroup_;
};

} // namespace genv::service::isolation
