// SPDX-License-Identifier: LGPL-2.1-or-later
// From a call to the question that polkit is asked about it. Pure: who asks and what it is about go
// in, one question or none comes out.
#pragma once

#include "core/process.hpp"
#include "policy/actions.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::policy {

/// What a call is about, as far as it is known; empty where it does not apply.
struct Target {
    std::optional<std::string> environment; ///< its id
    std::optional<core::Uid> owner;         ///< the environment's owner, or the process's uid
    std::string ownerName;
    std::optional<std::string> parent;    ///< the environment that it takes devices from, by its id
    std::optional<core::Uid> parentOwner; ///< whose that is
    std::string parentOwnerName;
    std::vector<std::uint32_t> devices; ///< indices that would change hands
    std::optional<std::uint32_t> gpus;  ///< how many devices are claimed
    bool overSubscribes = false;        ///< over-subscription was asked for
    std::optional<core::Pid> pid;
    bool dryRun = false;     ///< nothing would be done
    bool extendsJob = false; ///< Slurm would be asked to end a job later

    friend bool operator==(const Target&, const Target&) = default;
};

/// What polkit is asked.
struct Question {
    Action action;
    std::map<std::string, std::string> details; ///< for an administrator's rules
    std::string deed; ///< what would be done, as in "not authorised to <deed>"

    /// For the person who is asked for a password.
    [[nodiscard]] std::string message() const { return "Authentication is required to " + deed; }

    friend bool operator==(const Question&, const Question&) = default;
};

/// The question for a call by `caller`, or nothing where none is asked: reading is free, one's own
/// history too, and root is not asked.
std::optional<Question> questionFor(const MethodRow& method, core::Uid caller,
                                    const Target& target);

/// The second question for a call that would go over a limit; nothing for root.
std::optional<Question> quotaQuestionFor(const MethodRow& method, core::Uid caller,
                                         const Target& target);

} // namespace genv::policy
