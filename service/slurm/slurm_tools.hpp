// SPDX-License-Identifier: LGPL-2.1-or-later
// Carries out the requests in genv-slurm: selects Slurm's program and its arguments, and interprets
// its output. Slurm's programs may print errors and still exit with status 0, so only output that
// is understood counts as success.
#pragma once

#include "service/slurm/slurm_program.hpp"
#include "service/slurm/slurm_protocol.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace genv::service {

/// The folders of Slurm's programs. BinDir= in genvd.conf contains scontrol, scancel and squeue.
/// slurmd is in the sibling folder sbin if it exists there, or else in BinDir= itself.
struct SlurmFolders {
    std::filesystem::path bin = "/usr/bin";

    [[nodiscard]] std::filesystem::path scontrol() const { return bin / "scontrol"; }
    [[nodiscard]] std::filesystem::path scancel() const { return bin / "scancel"; }
    [[nodiscard]] std::filesystem::path squeue() const { return bin / "squeue"; }
    [[nodiscard]] std::filesystem::path slurmd() const;
};

/// The command for a request: fixed words and the request's numbers.
struct SlurmCommand {
    std::filesystem::path program;
    std::vector<std::string> arguments;
};
SlurmCommand slurmCommand(const SlurmRequest& request, const SlurmFolders& folders);

/// Returns the node of a device file on this machine, or the reason why it cannot be determined.
using NodeLookup =
    std::function<std::variant<core::DeviceNode, core::SlurmFailure>(const std::string& file)>;
std::variant<core::DeviceNode, core::SlurmFailure> lookUpNode(const std::string& file);

/// Returns the command that queries the current end of a job. It runs before a job's end is set,
/// because an extension must never end a job sooner.
SlurmCommand slurmEndQuestion(core::SlurmJobId job, const SlurmFolders& folders);
/// Returns the reason to reject the request, given the current end. Returns nothing if the request
/// would make the job end later.
std::optional<core::SlurmFailure> objectionTo(const SlurmSetEnd& request,
                                              const SlurmProgramResult& result);

/// Interprets the result of a command.
SlurmAnswer judgeSlurmResult(const SlurmRequest& request, const SlurmProgramResult& result,
                             const NodeLookup& lookUp);

/// Carries out a request, within the limits of `bounds`.
SlurmAnswer carryOutSlurmRequest(const SlurmRequest& request, const SlurmFolders& folders,
                                 const std::vector<std::string>& environment,
                                 const SlurmProgramBounds& bounds);

} // namespace genv::service
