// SPDX-License-Identifier: LGPL-2.1-or-later
// The visible devices, ordered as in nvidia-smi's output: GPUs and, within a GPU in MIG mode, its
// instances. An attached instance makes its GPU visible, with the sums over its attached instances.
// The real nvidia-smi's own list (-L) gives the position of each instance.
#pragma once

#include "shims/program_view.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace genv::shims::nvidia_smi {

struct Memory {
    std::uint64_t totalBytes = 0;           ///< memory that the environment may use
    std::optional<std::uint64_t> usedBytes; ///< memory that it uses; unset: unknown
    bool isWhole = true; ///< a whole device; false for a share, and for a GPU's attached instances
};

struct SeenInstance {
    std::uint32_t number = 0; ///< among the instances of its GPU, as counted by nvidia-smi
    std::string uuid;
    Memory memory;
};

struct SeenGpu {
    std::uint32_t index = 0; ///< machine-wide
    std::string uuid;
    Memory memory;
    std::set<std::uint32_t> pids; ///< of the environment's processes
    std::vector<SeenInstance> instances;

    [[nodiscard]] const SeenInstance* instance(std::uint64_t number) const;
};

/// A GPU and its MIG instances in the list of `nvidia-smi -L`.
struct ListedGpu {
    struct Instance {
        std::uint32_t number = 0;
        std::string uuid;
    };
    std::uint32_t index = 0;
    std::string uuid;
    std::vector<Instance> instances;
};

/// Parses the output of `nvidia-smi -L`.
std::vector<ListedGpu> parseListing(std::string_view text);
/// Returns the UUID at the end of a line of that output; empty if there is none.
std::string_view uuidOfListingLine(std::string_view line);

class Seen {
  public:
    Seen() = default;
    /// Creates the visible devices. `listing` is required if the view has MIG instances; instances
    /// that are missing in it are not visible.
    Seen(const View& view, const std::vector<ListedGpu>& listing);

    /// Returns the GPUs by index.
    [[nodiscard]] const std::vector<SeenGpu>& gpus() const { return gpus_; }
    [[nodiscard]] const SeenGpu* byIndex(std::uint64_t index) const;
    [[nodiscard]] const SeenGpu* byUuid(std::string_view uuid) const;
    /// Returns whether this is a visible instance.
    [[nodiscard]] bool hasInstance(std::string_view uuid) const;
    /// Returns whether the process belongs to the environment and runs on any of these GPUs.
    [[nodiscard]] bool hasProcess(std::uint64_t pid) const;

  private:
    void addInstance(const VisibleDevice& device, const std::vector<ListedGpu>& listing);

    std::vector<SeenGpu> gpus_;
};

} // namespace genv::shims::nvidia_smi
