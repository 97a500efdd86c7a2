// SPDX-License-Identifier: LGPL-2.1-or-later
// The maps of the gate and where they are pinned.
#pragma once

#include "core/ports/gates.hpp"
#include "service/isolation/bpf.hpp"
#include "service/isolation/gate_layout.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace genv::service::isolation {

/// In the order in which the program's instructions number them.
enum class GateMap { Majors, Grants, Identities, Refusals, Mode };
inline constexpr std::size_t gateMapCount = 5;

/// Where the loader pins maps and link unless a test says otherwise.
inline constexpr const char* defaultPins = "/sys/fs/bpf/genv";
/// Of the link, beside the maps.
inline constexpr const char* linkPin = "link";

/// As the program reads a map, which is pinned by `pinName()`.
const MapLayout& layoutOf(GateMap map);
/// "majors", "grants" and so on.
const char* pinName(GateMap map);
/// Of all maps.
constexpr std::array<GateMap, gateMapCount> gateMaps{
    GateMap::Majors, GateMap::Grants, GateMap::Identities, GateMap::Refusals, GateMap::Mode};

using MajorsMap = Map<std::uint32_t, std::uint32_t>;
using GrantsMap = Map<genv_grant, std::uint32_t>;
using IdentitiesMap = Map<genv_uid_block, std::uint32_t>;
using RefusalsMap = Map<genv_refusal_key, genv_refusal>;
using ModeMap = Map<std::uint32_t, std::uint32_t>;

/// As the map of the mode has it, and back; a number of no mode refuses.
std::uint32_t toKernel(core::GateMode mode);
core::GateMode toGateMode(std::uint32_t number);

/// The descriptors of all maps.
struct GateMapSet {
    MajorsMap majors;
    GrantsMap grants;
    IdentitiesMap identities;
    RefusalsMap refusals;
    ModeMap mode;

    /// By their pins in this folder. Throws BpfError.
    static GateMapSet open(const std::filesystem::path& pins);
    [[nodiscard]] const UntypedMap& untyped(GateMap map) const;
};

/// The program over these maps, checked by the kernel. Where the kernel has no calls for the number
/// and the name of a process, refusals have neither. Throws BpfError.
core::Descriptor loadGateProgram(const GateMapSet& maps);

} // namespace genv::service::isolation
