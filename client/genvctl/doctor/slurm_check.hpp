// SPDX-License-Identifier: LGPL-2.1-or-later
// The facts about Slurm and genv on this node, and their evaluation.
#pragma once

#include "client/genvctl/doctor/finding.hpp"
#include "client/genvctl/doctor/system_places.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::ctl::doctor {

/// The effect of a slurm.conf key that should run a hook of genv.
enum class HookState {
    RunsGenv,
    Unset,
    RunsOther, ///< runs scripts that do not call genv
    NotThere,  ///< names a file that does not exist, which fails every job
};

struct HookFacts {
    std::string key;    ///< such as "Prolog"
    std::string script; ///< the path of genv's script
    HookState state = HookState::Unset;
};

struct SlurmFacts {
    bool isConfigured = false; ///< whether slurm.conf exists
    bool hasGpus = false;      ///< whether slurm.conf or gres.conf defines GPUs for a node
    std::vector<HookFacts> hooks;
    bool containsJobs = false; ///< whether PrologFlags= has Contain, which implies Alloc
    bool constrainsDevices = false;
    bool adoptsSsh = false; ///< whether pam_slurm_adopt is configured
    bool movesSsh = false;  ///< whether pam_systemd moves ssh sessions into a session of the user
    /// The text of the service's file; unset if the file does not exist.
    std::optional<std::map<std::uint32_t, std::string>> devices;
    std::string devicesTrouble; ///< the reason why the file cannot be used
    /// The devices of the service; unset if it is not running.
    std::optional<std::set<std::string>> known;
    bool reserves = false; ///< whether the running service reserves devices for Slurm jobs
};

SlurmFacts gatherSlurmFacts(const SystemPlaces& places);
DoctorFinding judgeSlurm(const SlurmFacts& facts);

} // namespace genv::ctl::doctor
