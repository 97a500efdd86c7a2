// SPDX-License-Identifier: LGPL-2.1-or-later
// What somebody inside an environment is to see of the machine: its devices, how much of their
// memory is its own, and its processes. It comes from the service alone, since an ordinary user can
// read neither other users' processes nor those of a container that root runs.
#pragma once

#include "client/named_environment.hpp"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::shims {

/// A compute process of the environment on one device.
struct VisibleProcess {
    std::uint32_t pid = 0;
    std::optional<std::uint64_t> usedMemoryBytes; ///< unset: the driver does not know
};

/// An attached device.
struct VisibleDevice {
    std::uint32_t index = 0; ///< the machine's
    std::string uuid;        ///< starts with "MIG-" for an instance
    std::uint64_t totalMemoryBytes = 0;
    std::optional<std::uint64_t> shareBytes; ///< unset: the whole device
    std::vector<VisibleProcess> processes;

    /// The memory that the environment may use.
    [[nodiscard]] std::uint64_t capacityBytes() const {
        return shareBytes.value_or(totalMemoryBytes);
    }
    /// What its processes use; nothing where that is unknown of one of them.
    [[nodiscard]] std::optional<std::uint64_t> usedMemoryBytes() const;
};

/// Attached devices, by index; empty when detached.
using View = std::vector<VisibleDevice>;

/// Whether this is the UUID of a MIG instance.
bool isInstance(std::string_view uuid);
/// Whether any of the devices is one.
bool hasInstances(const View& view);

/// The variables name an environment of another user, as under sudo -E: nobody meant to see that
/// one. what() is a clause about it, safe for a terminal.
class AnothersEnvironment : public std::runtime_error {
  public:
    explicit AnothersEnvironment(const EnvironmentEntry& environment);
};

/// Whether the named environment is still there. Throws genv::Error, and AnothersEnvironment where
/// it is there and another user's.
bool isThere(Client& client, const client::NamedEnvironment& named);

/// Which devices an environment holds, without their processes; none where it has ended. Throws
/// genv::Error and AnothersEnvironment.
View readDevices(Client& client, const client::NamedEnvironment& named);

/// The same with their processes, from a sample of the driver at most a second old. Throws
/// genv::Error and AnothersEnvironment.
View readView(Client& client, const client::NamedEnvironment& named);

} // namespace genv::shims
