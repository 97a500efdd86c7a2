// SPDX-License-Identifier: LGPL-2.1-or-later
// Slurm's programs, found in PATH and run without a shell. What goes wrong is told in a sentence
// with Slurm's own words in it.
#pragma once

#include "client/descriptor.hpp"
#include "client/remote/ssh/ssh.hpp"

#include <optional>
#include <string>
#include <vector>

namespace genv::ctl::cluster {

/// Throws Failure(NoService) unless there is such a program in PATH.
void requireProgram(const std::string& name);

/// A question to Slurm, by a program of its own. It is being answered from the beginning on, so
/// that several can be answered at once.
class SlurmQuestion {
  public:
    /// Starts the program. Throws Failure where it is not there.
    explicit SlurmQuestion(std::vector<std::string> words);

    /// What the program prints. Throws Failure where it fails or takes too long.
    std::string answer();

  private:
    std::vector<std::string> words_;
    client::Descriptor output_;
    std::optional<remote::SshChild>
        child_; ///< the way in which genvctl runs programs that it reads
};

/// Runs a program that is to do something. Throws Failure, with NotAuthorised where Slurm says so.
void askSlurmTo(const std::string& what, std::vector<std::string> words);

} // namespace genv::ctl::cluster
