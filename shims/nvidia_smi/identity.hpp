// SPDX-License-Identifier: LGPL-2.1-or-later
// Resolves the values that users pass to -i: an index, a UUID, a PCI address or a board's serial
// number. They are converted to UUIDs, so that they refer to the machine's devices regardless of
// any filter.
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

/// Queries the real nvidia-smi for these GPUs.
std::vector<GpuIdentity> askIdentities(const std::string& program,
                                       const std::vector<std::string>& uuids);
/// Parses lines of the form "uuid, bus id, serial".
std::vector<GpuIdentity> parseIdentities(std::string_view text);

/// Returns the UUID of the GPU with this PCI address, in its short or long form.
std::optional<std::string> uuidOf(const std::vector<GpuIdentity>& identities,
                                  std::string_view busId);

/// The devices that the user chose with -i.
struct ChosenDevices {
    std::vector<std::string> uuids; ///< of GPUs; an instance selects its GPU
    std::string refused;            ///< the first value that is not attached, as given
};

/// Resolves a list. Calls `ask` if a value is neither an index nor a UUID.
ChosenDevices choose(std::string_view list, const View& view, const Seen& seen,
                     const std::function<std::vector<GpuIdentity>()>& ask);

/// Returns the indices in the form "0,2".
std::string indicesOf(const View& view);

} // namespace genv::shims::nvidia_smi
