// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs Slurm's programs, found in PATH, without a shell. Error messages contain Slurm's own
// message.
#pragma once

#include "client/descriptor_functions.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/remote/ssh/ssh.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl::cluster {

/// Throws Failure(NoService) if the program is not in PATH.
void requireProgram(const std::string& name);

/// A program of Slurm ran and failed.
class SlurmRefusal : public Failure {
  public:
    SlurmRefusal(const std::string& program, std::string why);

    /// Returns the last line of the program's messages, safe to print.
    [[nodiscard]] const std::string& why() const noexcept { return why_; }
    /// Whether Slurm's daemon did not answer; otherwise it refused.
    [[nodiscard]] bool isSilence() const;

  private:
    std::string why_;
};

/// A query to Slurm, made by running one of its programs. The program starts at once, so several
/// queries can run in parallel.
class SlurmQuestion {
  public:
    /// Starts the program. Throws Failure if it is not installed.
    explicit SlurmQuestion(std::vector<std::string> words);

    /// Starts the program with this text as its standard input.
    SlurmQuestion(std::vector<std::string> words, std::string_view input);

    /// Returns the output of the program. Throws SlurmRefusal if it fails, and Failure if it takes
    /// too long.
    std::string answer();

  private:
    void start(const client::Descriptor& input);

    std::vector<std::string> words_;
    client::Descriptor output_;
    std::optional<remote::SshChild>
        child_; ///< the way in which genvctl runs programs that it reads
};

/// Runs a program that changes something. Throws Failure, with NotAuthorized if Slurm refuses
/// permission.
void askSlurmTo(const std::string& what, std::vector<std::string> words);

} // namespace genv::ctl::cluster
