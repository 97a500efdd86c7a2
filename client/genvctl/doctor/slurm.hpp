// SPDX-License-Identifier: LGPL-2.1-or-later
// The facts about Slurm and genv on this node, and the verdict of the check on them.
#pragma once

#include "client/genvctl/doctor/finding.hpp"
#include "client/genvctl/doctor/places.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::ctl::doctor {

/// What a key of slurm.conf that should run a hook of genv's does.
enum class HookState {
    RunsGenv,
    Unset,
    RunsOther, ///< scripts that do not call genv
    NotThere,  ///< a file that does not exist, which fails each job
};

struct HookFacts {
    std::string key;    ///< such as "Prolog"
    std::string script; ///< genv's, by path
    HookState state = HookState::Unset;
};

struct SlurmFacts {
    bool isConfigured = false; ///< there is a slurm.conf
    bool hasGpus = false;      ///< slurm.conf or gres.conf gives a node GPUs
    std::vector<HookFacts> hooks;
    bool containsJobs = false; ///< PrologFlags= has Contain, which implies Alloc
    bool constrainsDevices = false;
    bool adoptsSsh = false; ///< pam_slurm_adopt
    bool movesSsh = false;  ///< pam_systemd, into a session of the user's
    /// The text of the service's file; unset if the file does not exist.
    std::optional<std::map<std::uint32_t, std::string>> devices;
    std::string devicesTrouble; ///< why the file cannot be used
    /// The service's devices; unset: it does not run.
    std::optional<std::set<std::string>> known;
    bool reserves = false; ///< the running service gives some to Slurm's jobs alone
};

SlurmFacts gatherSlurmFacts(const Places& places);
Finding judgeSlurm(const SlurmFacts& facts);

} // namespace genv::ctl::doctor
