// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs Slurm's programs, found in PATH, without a shell. Error messages contain Slurm's own
// message.
#pragma once

#include "client/descriptor.hpp"
#include "client/remote/ssh/ssh.hpp"

#include <optional>
#include <string>
#include <vector>

namespace genv::ctl::cluster {

/// Throws Failure(NoService) if the program is not in PATH.
void requireProgram(const std::string& name);

/// A query to Slurm, made by running one of its programs. The program starts at once, so several
/// queries can run in parallel.
class SlurmQuestion {
  public:
    /// Starts the program. Throws Failure if it is not installed.
    explicit SlurmQuestion(std::vector<std::string> words);

    /// Returns the output of the program. Throws Failure if it fails or takes too long.
    std::string answer();

  private:
    std::vector<std::string> words_;
    client::Descriptor output_;
    std::optional<remote::SshChild>
        child_; ///< the way in which genvctl runs programs that it reads
};

/// Runs a program that changes something. Throws Failure, with NotAuthorized if Slurm refuses
/// permission.
void askSlurmTo(const std::string& what, std::vector<std::string> words);

} // namespace genv::ctl::cluster
