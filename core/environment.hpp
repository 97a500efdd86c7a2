// SPDX-License-Identifier: LGPL-2.1-or-later
// What an environment is: one user's claim. The set of environments is the whole state of genv;
// everything else is derived from it.
#pragma once

#include "core/bytes.hpp"
#include "core/device.hpp"
#include "core/ports/processes.hpp"
#include "core/process.hpp"
#include "core/time.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

using EnvironmentId = std::string;

/// What its owner wants; each may be unset.
struct Configuration {
    std::optional<std::string> name;
    std::optional<std::uint32_t> gpus;
    std::optional<Bytes> gpuMemory; ///< the share of each device; whole devices without it

    friend bool operator==(const Configuration&, const Configuration&) = default;
};

/// A device that an environment holds. It remembers what the device is, so that a service that
/// starts while the driver hangs still knows what people hold.
struct Attachment {
    DeviceFacts device;
    std::optional<Bytes> share; ///< unset: the whole device
    bool overSubscribed = false;
    bool exempt = false; ///< granted over a limit, by somebody who may: the limits' rules spare it
    WallTime since;
    std::uint64_t sequence = 0; ///< order of attachment over all environments

    friend bool operator==(const Attachment&, const Attachment&) = default;
};

/// A process that keeps an environment alive, pinned while it is in the ledger.
struct RootProcess {
    ProcessIdentity identity;
    std::shared_ptr<const ProcessPin> pin;

    friend bool operator==(const RootProcess& a, const RootProcess& b) {
        return a.identity == b.identity;
    }
};

/// A Jupyter kernel that keeps an environment alive, and the process it is.
struct Kernel {
    std::string id;
    RootProcess process;

    friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// One user's claim.
struct Environment {
    EnvironmentId id;
    Uid uid = 0;
    std::string user; ///< the owner's name, or the uid as text
    WallTime created;
    BootTime began;      ///< when it was created, by a clock that nobody sets
    bool exempt = false; ///< granted over a limit, by somebody who may: the limits' rules spare it
    std::uint64_t sequence = 0; ///< order of creation
    Configuration configuration;
    std::vector<RootProcess> processes;
    std::vector<Kernel> kernels;
    std::vector<Attachment> attachments; ///< oldest first

    [[nodiscard]] bool isAlive() const { return !processes.empty() || !kernels.empty(); }
    [[nodiscard]] const Attachment* attachmentTo(const DeviceUuid& uuid) const;
    /// The attached indices, ascending.
    [[nodiscard]] std::vector<DeviceIndex> deviceIndices() const;

    friend bool operator==(const Environment&, const Environment&) = default;
};

} // namespace genv::core
