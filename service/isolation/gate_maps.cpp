// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/isolation/gate_maps.hpp"

#include <cerrno>

namespace genv::service::isolation {

namespace {

struct Instruction {
    std::uint8_t code;
    std::uint8_t destination;
    std::uint8_t source;
    std::int16_t offset;
    std::int32_t number;
};

constexpr Instruction gateProgram[] = {
#include "service/isolation/gate_program.inc"
};

constexpr std::uint8_t loadNumber64 = BPF_LD | BPF_DW | BPF_IMM;
constexpr std::uint8_t setNumber64 = BPF_ALU64 | BPF_MOV | BPF_K;
constexpr std::uint8_t callHelper = BPF_JMP | BPF_CALL;

std::vector<bpf_insn> instructionsOver(const GateMapSet& maps) {
    std::vector<bpf_insn> instructions;
    for (const Instruction& from : gateProgram) {
        bpf_insn to{};
        to.code = from.code;
        to.dst_reg = from.destination & 0xf;
        to.src_reg = from.source & 0xf;
        to.off = from.offset;
        to.imm = from.number;
        if (from.code == loadNumber64 && from.source == BPF_PSEUDO_MAP_FD)
            to.imm = maps.untyped(static_cast<GateMap>(from.number)).descriptor();
        instructions.push_back(to);
    }
    return instructions;
}

// Removes the calls for a process's PID and name, which kernels before 6.1 do not allow to a
// program of this type.
void askForNoProcess(std::vector<bpf_insn>& instructions) {
    for (bpf_insn& instruction : instructions) {
        if (instruction.code == callHelper && (instruction.imm == BPF_FUNC_get_current_pid_tgid ||
                                               instruction.imm == BPF_FUNC_get_current_comm)) {
            instruction = bpf_insn{};
            instruction.code = setNumber64;
            instruction.dst_reg = BPF_REG_0;
        }
    }
}

MapLayout layoutFor(const char* name, bpf_map_type type, std::size_t keySize, std::size_t valueSize,
                    std::uint32_t maxEntries, std::uint32_t flags = 0) {
    return {name,
            type,
            static_cast<std::uint32_t>(keySize),
            static_cast<std::uint32_t>(valueSize),
            maxEntries,
            flags};
}

} // namespace

const MapLayout& layoutOf(GateMap map) {
    constexpr std::size_t number = sizeof(std::uint32_t);
    static const std::array<MapLayout, gateMapCount> layouts{
        layoutFor("genv_majors", BPF_MAP_TYPE_ARRAY, number, number, GENV_MAX_MAJORS),
        layoutFor("genv_grants", BPF_MAP_TYPE_HASH, sizeof(genv_grant), number, GENV_MAX_GRANTS,
                  BPF_F_NO_PREALLOC),
        layoutFor("genv_identities", BPF_MAP_TYPE_LPM_TRIE, sizeof(genv_uid_block), number,
                  GENV_MAX_UID_BLOCKS, BPF_F_NO_PREALLOC),
        layoutFor("genv_refusals", BPF_MAP_TYPE_LRU_HASH, sizeof(genv_refusal_key),
                  sizeof(genv_refusal), GENV_MAX_REFUSALS),
        layoutFor("genv_mode", BPF_MAP_TYPE_ARRAY, number, number, GENV_MODE_ENTRIES),
    };
    return layouts[static_cast<std::size_t>(map)];
}

const char* pinName(GateMap map) {
    switch (map) {
    case GateMap::Majors:
        return "majors";
    case GateMap::Grants:
        return "grants";
    case GateMap::Identities:
        return "identities";
    case GateMap::Refusals:
        return "refusals";
    case GateMap::Mode:
        break;
    }
    return "mode";
}

GateMapSet GateMapSet::open(const std::filesystem::path& pins) {
    const auto at = [&](GateMap map) { return UntypedMap::open(pins / pinName(map)); };
    return {MajorsMap(at(GateMap::Majors)), GrantsMap(at(GateMap::Grants)),
            IdentitiesMap(at(GateMap::Identities)), RefusalsMap(at(GateMap::Refusals)),
            ModeMap(at(GateMap::Mode))};
}

const UntypedMap& GateMapSet::untyped(GateMap map) const {
    switch (map) {
    case GateMap::Majors:
        return majors.untyped();
    case GateMap::Grants:
        return grants.untyped();
    case GateMap::Identities:
        return identities.untyped();
    case GateMap::Refusals:
        return refusals.untyped();
    case GateMap::Mode:
        break;
    }
    return mode.untyped();
}

std::uint32_t toKernel(core::GateMode mode) {
    switch (mode) {
    case core::GateMode::Open:
        return GENV_MODE_OPEN;
    case core::GateMode::Watch:
        return GENV_MODE_WATCH;
    case core::GateMode::Refuse:
        break;
    }
    return GENV_MODE_REFUSE;
}

core::GateMode toGateMode(std::uint32_t number) {
    switch (number) {
    case GENV_MODE_OPEN:
        return core::GateMode::Open;
    case GENV_MODE_WATCH:
        return core::GateMode::Watch;
    default:
        return core::GateMode::Refuse;
    }
}

core::Descriptor loadGateProgram(const GateMapSet& maps) {
    constexpr const char* name = "genv_gate";
    std::vector<bpf_insn> instructions = instructionsOver(maps);
    try {
        return loadDeviceProgram(instructions, name);
    } catch (const BpfError& error) {
        if (error.error() != EINVAL) // "unknown func", "program of this type cannot use helper"
            throw;
    }
    askForNoProcess(instructions);
    return loadDeviceProgram(instructions, name);
}

} // namespace genv::service::isolation
