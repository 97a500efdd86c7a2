// SPDX-License-Identifier: LGPL-2.1-or-later
// The part of the machine that a program inside an environment sees: its devices, its share of
// their memory, and its processes. All of it comes from the service, because an ordinary user can
// read neither the processes of other users nor those of a container that root runs.
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
    std::uint32_t index = 0; ///< machine-wide
    std::string uuid;        ///< starts with "MIG-" for an instance
    std::uint64_t totalMemoryBytes = 0;
    std::optional<std::uint64_t> shareBytes; ///< unset: the whole device
    std::vector<VisibleProcess> processes;

    /// Returns the amount of memory that the environment may use.
    [[nodiscard]] std::uint64_t capacityBytes() const {
        return shareBytes.value_or(totalMemoryBytes);
    }
    /// Returns the memory that its processes use, or nothing if that is unknown for one of them.
    [[nodiscard]] std::optional<std::uint64_t> usedMemoryBytes() const;
};

/// Attached devices, by index; empty if no device is attached.
using View = std::vector<VisibleDevice>;

/// Returns whether this is the UUID of a MIG instance.
bool isInstance(std::string_view uuid);
/// Returns whether any of the devices is a MIG instance.
bool hasInstances(const View& view);

/// The variables name another user's environment, as under sudo -E, which the user does not want to
/// see. what() is a clause about it that is safe for a terminal.
class AnothersEnvironment : public std::runtime_error {
  public:
    explicit AnothersEnvironment(const EnvironmentEntry& environment);
};

/// Returns whether the named environment still exists. Throws genv::Error, and AnothersEnvironment
/// if it exists and belongs to another user.
bool isThere(Client& client, const client::NamedEnvironment& named);

/// Returns the devices of an environment, without their processes; none if it has ended. Throws
/// genv::Error and AnothersEnvironment.
View readDevices(Client& client, const client::NamedEnvironment& named);

/// Returns the devices with their processes, from a sample of the driver that is at most one second
/// old. Throws genv::Error and AnothersEnvironment.
View readView(Client& client, const client::NamedEnvironment& named);

} // namespace genv::shims
