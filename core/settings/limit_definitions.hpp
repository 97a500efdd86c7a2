// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of limits has their names and the kinds of their counts. genvd.conf, GetLimits,
// Enforce, genvctl's options, tables and completion, and the manuals are based on it.
//
// To add a limit, add a member to Limits, a row here, and the rule of the same name that watches it
// (rule_definitions.hpp).
#pragma once

#include "core/settings/limits.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

namespace genv::core {

enum class LimitUnit { Count, Memory, Time };

/// The scope within which a limit applies.
enum class LimitScope {
    User,        ///< everything that a user holds
    Device,      ///< a user's share of any one device
    Environment, ///< everything that any one environment holds
    Attachment,  ///< any one attachment
};

/// The requests that are refused because of a limit. Rules watch every limit independently of this.
enum class LimitedRequest {
    None,
    Activation, ///< a new environment
    Devices,    ///< devices for an environment
    Lifetime,   ///< a lease
};

/// A limit counts these holdings of a user, or of an environment if that is its scope.
enum class CountHeld { Devices, Environments, Memory, MemoryOnADevice, Loans };

/// A limit counts these observations; times are in seconds.
enum class CountObserved { Processes, OldestEnvironment, IdleTime };

/// How a preview describes a user above the limit, in the manner of "alice holds 3 GPUs, 2 more
/// than 1: kept until given back".
struct OverLimitTexts {
    std::string_view has;   ///< the verb and the amount: "holds {}"
    std::string_view thing; ///< the counted noun in the singular; empty for memory and times
    std::string_view acts;  ///< the action of the rule: "the newest are detached"
    /// What happens with KeepGrants=yes; empty: the limit spares nothing.
    std::string_view kept = {};
    bool actsAnyway = false; ///< the rule judges measured use, which nothing spares
};

/// A row of the table. `manual` has one sentence per line, and keys between asterisks.
struct LimitDefinition {
    using Member =
        std::variant<std::optional<std::uint32_t> Limits::*, std::optional<Bytes> Limits::*,
                     std::optional<std::chrono::milliseconds> Limits::*>;

    std::string_view key;  ///< the key in genvd.conf and GetLimits: "MaxDevicesPerUser"
    std::string_view name; ///< the name of the rule and the option: "max-devices-per-user"
    Member member;
    LimitScope scope;
    LimitedRequest refuses;
    std::variant<CountHeld, CountObserved> count;
    std::string_view thing;  ///< the counted noun in the singular: "device"; empty for times
    std::string_view label;  ///< the column title in a table for people: "DEVICES"
    std::string_view column; ///< the column titles in CSV, without unit: "DEVICES"
    std::string_view help;   ///< the help text of the option
    std::string_view manual; ///< the text in genvd.conf(5)
    OverLimitTexts over;
    /// It allows more than the other limits do: unset, it allows nothing, and nobody exceeds it.
    bool isAllowance = false;

    [[nodiscard]] LimitUnit unit() const { return static_cast<LimitUnit>(member.index()); }
    /// Returns the configured limit as a number, in bytes or in whole seconds; nothing if it is not
    /// set.
    [[nodiscard]] std::optional<std::uint64_t> allowed(const Limits& limits) const;
};

/// Returns every limit, in the order of genvd.conf.
std::span<const LimitDefinition> limitDefinitions();

/// Returns the limit of this name ("max-devices-per-user"), or null.
const LimitDefinition* findLimit(std::string_view name);
/// Returns the limit with this key ("MaxDevicesPerUser"), or null.
const LimitDefinition* findLimitByKey(std::string_view key);

} // namespace genv::core
