// SPDX-License-Identifier: LGPL-2.1-or-later
// Turns a call into the question for polkit. The functions are pure: they take the caller and the
// target, and return one question or none.
#pragma once

#include "core/base/process.hpp"
#include "policy/actions.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::policy {

/// A user who holds a device.
struct DeviceHolder {
    core::Uid uid = 0;
    std::string name;

    friend bool operator==(const DeviceHolder&, const DeviceHolder&) = default;
};

/// Devices that a call would over-subscribe without the consent of their holders.
struct HeldDevices {
    std::vector<std::uint32_t> indices;
    std::vector<DeviceHolder> holders; ///< users who did not consent, without duplicates

    friend bool operator==(const HeldDevices&, const HeldDevices&) = default;
};

/// The target of a call, as far as it is known. Fields that do not apply are empty.
struct Target {
    std::optional<std::string> environment; ///< id of the environment
    std::optional<core::Uid> owner;         ///< owner of the environment, or uid of the process
    std::string ownerName;
    std::optional<std::string> parent;    ///< id of the environment whose devices are shared
    std::optional<core::Uid> parentOwner; ///< owner of that environment
    std::string parentOwnerName;
    std::vector<std::uint32_t> devices; ///< indices of the devices that would change hands
    std::optional<std::uint32_t> gpus;  ///< number of requested devices
    bool overSubscribes = false;        ///< over-subscription was requested
    HeldDevices withoutConsent = {};    ///< those of the devices whose holders did not consent
    std::optional<core::Pid> pid;
    bool dryRun = false;     ///< nothing would change
    bool extendsJob = false; ///< Slurm would be asked to end a job later

    friend bool operator==(const Target&, const Target&) = default;
};

/// A question for polkit.
struct Question {
    Action action;
    std::map<std::string, std::string> details; ///< for the rules of an administrator
    std::string deed;                           ///< the action, as in "not authorized to <deed>"
    std::string remedy = {};                    ///< what else the caller can do; empty if nothing

    /// Returns the text of the password prompt.
    [[nodiscard]] std::string message() const { return "Authentication is required to " + deed; }

    friend bool operator==(const Question&, const Question&) = default;
};

/// Returns the question for a call by `caller`, or nothing if none is needed: for read-only calls,
/// for the caller's own history, and for root.
std::optional<Question> questionFor(const MethodRow& method, core::Uid caller,
                                    const Target& target);

/// Returns the second question, for a call that would exceed a limit; nothing for root.
std::optional<Question> quotaQuestionFor(const MethodRow& method, core::Uid caller,
                                         const Target& target);

} // namespace genv::policy
