// SPDX-License-Identifier: LGPL-2.1-or-later
// What a person is to see, as nvidia-smi's output is ordered: GPUs, and within a GPU in MIG mode
// its instances. An attached instance makes its GPU visible, with the sum of what its attached
// instances have; where an instance lies is what the real nvidia-smi itself lists with -L.
#pragma once

#include "shims/view.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace genv::shims::nvidia_smi {

struct Memory {
    std::uint64_t totalBytes = 0;           ///< what the environment may use
    std::optional<std::uint64_t> usedBytes; ///< what it uses; unset: the driver does not know
    bool isWhole = true; ///< of a device; false for a share, and for attached instances of a GPU
};

struct SeenInstance {
    std::uint32_t number = 0; ///< among the instances of its GPU, as nvidia-smi counts them
    std::string uuid;
    Memory memory;
};

struct SeenGpu {
    std::uint32_t index = 0; ///< the machine's
    std::string uuid;
    Memory memory;
    std::set<std::uint32_t> pids; ///< of the environment's processes
    std::vector<SeenInstance> instances;

    [[nodiscard]] const SeenInstance* instance(std::uint64_t number) const;
};

/// A GPU and its MIG instances as `nvidia-smi -L` lists them.
struct ListedGpu {
    struct Instance {
        std::uint32_t number = 0;
        std::string uuid;
    };
    std::uint32_t index = 0;
    std::string uuid;
    std::vector<Instance> instances;
};

/// Reads what `nvidia-smi -L` prints.
std::vector<ListedGpu> parseListing(std::string_view text);
/// The UUID at the end of a line of it; empty where there is none.
std::string_view uuidOfListingLine(std::string_view line);

class Seen {
  public:
    Seen() = default;
    /// `listing` is needed where the view has MIG instances; those that it lacks are not seen.
    Seen(const View& view, const std::vector<ListedGpu>& listing);

    /// By index.
    [[nodiscard]] const std::vector<SeenGpu>& gpus() const { return gpus_; }
    [[nodiscard]] const SeenGpu* byIndex(std::uint64_t index) const;
    [[nodiscard]] const SeenGpu* byUuid(std::string_view uuid) const;
    /// Whether this is a visible instance.
    [[nodiscard]] bool hasInstance(std::string_view uuid) const;
    /// Whether the process is one of the environment's, on any of these GPUs.
    [[nodiscard]] bool hasProcess(std::uint64_t pid) const;

  private:
    void addInstance(const VisibleDevice& device, const std::vector<ListedGpu>& listing);

    std::vector<SeenGpu> gpus_;
};

} // namespace genv::shims::nvidia_smi
