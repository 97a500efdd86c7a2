// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of limits says which limits there are, what they are called, and how their use is
// counted. genvd.conf, GetLimits, Enforce, genvctl's options, tables and completion, and the
// manuals read it.
//
// A new limit is a member of Limits, a row here, and the rule of the same name that watches it
// (rule_definitions.hpp).
#pragma once

#include "core/holdings.hpp"
#include "core/idleness.hpp"
#include "core/limits.hpp"
#include "core/ports/observer.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

namespace genv::core {

class Ledger;

enum class LimitUnit { Count, Memory, Time };

/// What a limit bounds the use of.
enum class LimitScope {
    User,        ///< all that a user has
    Device,      ///< what a user has of any one device
    Environment, ///< what any one environment has
    Attachment,  ///< any one attachment
};

/// The requests that are refused because of a limit. Rules watch every limit in any case.
enum class LimitedRequest {
    None,
    Activation, ///< a new environment
    Devices,    ///< devices for an environment
    Lifetime,   ///< a lease
};

/// GetLimits counts the use of limits from these.
struct LimitUseSources {
    const Ledger& ledger;
    Uid user = 0;
    const Observation* last = nullptr; ///< the last observation; null where there is none yet
    const Idleness& idleness;
    BootTime now;
};

/// Counts the holdings of a user, or of an environment where that is the limit's scope.
using CountHeld = std::uint64_t (*)(const Holdings&);
/// Counts observed use, with times in seconds.
using CountObserved = std::uint64_t (*)(const LimitUseSources&);

/// A row of the table. `manual` has a sentence on each line, and names of keys between asterisks.
struct LimitDefinition {
    using Member =
        std::variant<std::optional<std::uint32_t> Limits::*, std::optional<Bytes> Limits::*,
                     std::optional<std::chrono::milliseconds> Limits::*>;

    std::string_view key;  ///< in genvd.conf and GetLimits: "MaxDevicesPerUser"
    std::string_view name; ///< its rule's, and that of its option: "max-devices-per-user"
    Member member;
    LimitScope scope;
    LimitedRequest refuses;
    std::variant<CountHeld, CountObserved> count;
    std::string_view thing;  ///< what is counted, in the singular: "device"; empty for times
    std::string_view label;  ///< its column's title in a table for people: "DEVICES"
    std::string_view column; ///< its columns' titles in CSV, without unit: "DEVICES"
    std::string_view help;   ///< of the option
    std::string_view manual; ///< in genvd.conf(5)

    [[nodiscard]] LimitUnit unit() const { return static_cast<LimitUnit>(member.index()); }
    /// Returns what it allows: a number, bytes or whole seconds; nothing where it is not set.
    [[nodiscard]] std::optional<std::uint64_t> allowed(const Limits& limits) const;
};

/// Returns every limit, in the order of genvd.conf.
std::span<const LimitDefinition> limitDefinitions();

/// Returns the limit of this name ("max-devices-per-user"), or null.
const LimitDefinition* findLimit(std::string_view name);

} // namespace genv::core
