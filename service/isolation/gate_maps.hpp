// SPDX-License-Identifier: LGPL-2.1-or-later
// The maps of the gate and their pins.
#pragma once

#include "core/ports/gates.hpp"
#include "service/isolation/bpf.hpp"
#include "service/isolation/gate_layout.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace genv::service::isolation {

/// The maps, in the order in which the program's instructions number them.
enum class GateMap { Majors, Grants, Identities, Refusals, Mode };
inline constexpr std::size_t gateMapCount = 5;

/// The folder in which the loader pins the maps and the link, unless a test sets another one.
inline constexpr const char* defaultPins = "/sys/fs/bpf/genv";
/// The pin of the link, in the same folder as the maps.
inline constexpr const char* linkPin = "link";

/// Returns the layout that the program expects of a map.
const MapLayout& layoutOf(GateMap map);
/// Returns the name of a map's pin: "majors", "grants" and so on.
const char* pinName(GateMap map);
/// All maps.
constexpr std::array<GateMap, gateMapCount> gateMaps{
    GateMap::Majors, GateMap::Grants, GateMap::Identities, GateMap::Refusals, GateMap::Mode};

using MajorsMap = Map<std::uint32_t, std::uint32_t>;
using GrantsMap = Map<genv_grant, std::uint32_t>;
using IdentitiesMap = Map<genv_uid_block, std::uint32_t>;
using RefusalsMap = Map<genv_refusal_key, genv_refusal>;
using ModeMap = Map<std::uint32_t, std::uint32_t>;

/// Convert a mode to the number in the map and back. An unknown number means Refuse.
std::uint32_t toKernel(core::GateMode mode);
core::GateMode toGateMode(std::uint32_t number);

/// The descriptors of all maps.
struct GateMapSet {
    MajorsMap majors;
    GrantsMap grants;
    IdentitiesMap identities;
    RefusalsMap refusals;
    ModeMap mode;

    /// Opens the maps by their pins in this folder. Throws BpfError.
    static GateMapSet open(const std::filesystem::path& pins);
    [[nodiscard]] const UntypedMap& untyped(GateMap map) const;
};

/// Loads the program with these maps and lets the kernel verify it. If the kernel has no helpers
/// for a process's PID and name, refusals have neither. Throws BpfError.
core::Descriptor loadGateProgram(const GateMapSet& maps);

} // namespace genv::service::isolation
