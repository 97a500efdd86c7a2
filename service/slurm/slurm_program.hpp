// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs one of Slurm's programs once, with fixed arguments, its own environment variables and no
// input. The run always ends, whatever the program does.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace genv::service {

/// A program did not produce an answer. The text is a clause for users, such as "scontrol did not
/// answer in 10 s".
class SlurmProgramError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct SlurmProgramResult {
    int status = 0;     ///< exit status
    std::string output; ///< standard output and standard error, in the order of arrival
};

/// A program that exceeds these limits is killed.
struct SlurmProgramBounds {
    std::chrono::milliseconds deadline{10'000};
    std::size_t maxOutput = 128U << 10U;
};

/// Runs a program and waits until it exits. It receives `environment` and no other variables. At
/// the deadline, it and the processes in its process group are killed. Throws SlurmProgramError.
SlurmProgramResult runSlurmProgram(const std::filesystem::path& program,
                                   const std::vector<std::string>& arguments,
                                   const std::vector<std::string>& environment,
                                   const SlurmProgramBounds& bounds);

} // namespace genv::service
