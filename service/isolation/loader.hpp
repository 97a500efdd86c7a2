// SPDX-License-Identifier: LGPL-2.1-or-later
// Puts the gate before the nodes of GPUs, replaces it by a newer one without a moment in between,
// and takes it away. Needs CAP_BPF and CAP_NET_ADMIN to put it up, and CAP_PERFMON for refusals to
// name the process.
#pragma once

#include "core/ports/gates.hpp"
#include "service/isolation/gate_maps.hpp"
#include "service/isolation/identity_map.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace genv::service::isolation {

/// What the gate is to be like.
struct GatePlan {
    core::GateMode mode = core::GateMode::Refuse;
    std::vector<std::uint32_t> majors; ///< of the devices that are guarded, and no others
    std::vector<IdentityBlock> identities;
};

/// What became of it.
struct GateState {
    bool wasReplaced = false; ///< one stood there before, whose grants were kept
    bool isSuspended = false; ///< a person opened it until the next boot, so that it stays open
};

class Loader {
  public:
    /// `pins`: a folder of a BPF file system, which the loader makes. `controlGroup`: whose
    /// processes are judged, and those of all groups below.
    Loader(std::filesystem::path pins, std::filesystem::path controlGroup);

    /// Throws BpfError or std::filesystem::filesystem_error. If the kernel does not load the
    /// program, nothing has changed; if it loads the program and does not attach it, the previous
    /// program stays and goes by the new plan.
    GateState putUp(const GatePlan& plan) const;

    /// Whether there was anything to take away. Throws std::filesystem::filesystem_error.
    [[nodiscard]] bool takeDown() const;

  private:
    void makeFolder() const;
    [[nodiscard]] bool attach(int program) const;
    [[nodiscard]] bool replaceAttached(int program) const;

    std::filesystem::path pins_;
    std::filesystem::path controlGroup_;
};

} // namespace genv::service::isolation
