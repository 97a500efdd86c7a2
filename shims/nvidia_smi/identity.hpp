// SPDX-License-Identifier: LGPL-2.1-or-later
// The names that people give to -i: an index, a UUID, a PCI address or a board's serial number.
// They are turned into UUIDs, so that they mean the machine's devices whatever is filtered.
#pragma once

#include "shims/nvidia_smi/seen.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::shims::nvidia_smi {

struct GpuIdentity {
    std::string uuid;
    std::string busId;
    std::string serial;
};

/// Asks the real nvidia-smi about these GPUs.
std::vector<GpuIdentity> askIdentities(const std::string& program,
                                       const std::vector<std::string>& uuids);
/// Reads "uuid, bus id, serial" lines.
std::vector<GpuIdentity> parseIdentities(std::string_view text);

/// The UUID of the GPU with this PCI address, in either of its lengths.
std::optional<std::string> uuidOf(const std::vector<GpuIdentity>& identities,
                                  std::string_view busId);

/// What a person chose with -i.
struct Choice {
    std::vector<std::string> uuids; ///< of GPUs; an instance stands for the GPU that it is on
    std::string refused;            ///< the first that is not attached, as it was given
};

/// `ask` is called where neither indices nor UUIDs tell.
Choice choose(std::string_view list, const View& view, const Seen& seen,
              const std::function<std::vector<GpuIdentity>()>& ask);

/// "0,2"
std::string indicesOf(const View& view);

} // namespace genv::shims::nvidia_smi
