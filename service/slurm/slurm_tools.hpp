// SPDX-License-Identifier: LGPL-2.1-or-later
// What genv-slurm does for each request: which of Slurm's programs it runs, with which arguments,
// and what it makes of the answer. Slurm's programs print mistakes and exit with status 0 all the
// same, so only an answer that is understood counts as done.
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

/// Where Slurm's programs are: BinDir= in genvd.conf has scontrol and scancel. slurmd is in the
/// folder sbin beside it, or in BinDir= itself where there is no such folder.
struct SlurmFolders {
    std::filesystem::path bin = "/usr/bin";

    [[nodiscard]] std::filesystem::path scontrol() const { return bin / "scontrol"; }
    [[nodiscard]] std::filesystem::path scancel() const { return bin / "scancel"; }
    [[nodiscard]] std::filesystem::path slurmd() const;
};

/// The command of a request: fixed words, and the request's numbers.
struct SlurmCommand {
    std::filesystem::path program;
    std::vector<std::string> arguments;
};
SlurmCommand slurmCommand(const SlurmRequest& request, const SlurmFolders& folders);

/// What a device file is on this machine; or why that cannot be said.
using NodeLookup =
    std::function<std::variant<core::DeviceNode, core::SlurmFailure>(const std::string& file)>;
std::variant<core::DeviceNode, core::SlurmFailure> lookUpNode(const std::string& file);

/// The question that comes before setting a job's end, since an extension must never end a job
/// sooner: when it ends now.
SlurmCommand slurmEndQuestion(core::SlurmJobId job, const SlurmFolders& folders);
/// Why the answer to that question speaks against the request; nothing where the job would end
/// later by it.
std::optional<core::SlurmFailure> objectionTo(const SlurmSetEnd& request,
                                              const SlurmProgramResult& result);

/// What the result of a command means.
SlurmAnswer judgeSlurmResult(const SlurmRequest& request, const SlurmProgramResult& result,
                             const NodeLookup& lookUp);

/// Carries out a request. Takes as long as the bounds say.
SlurmAnswer carryOutSlurmRequest(const SlurmRequest& request, const SlurmFolders& folders,
                                 const std::vector<std::string>& environment,
                                 const SlurmProgramBounds& bounds);

} // namespace genv::service
