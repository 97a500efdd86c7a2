// SPDX-License-Identifier: LGPL-2.1-or-later
// One run of one of Slurm's programs: fixed arguments, an environment of its own, nothing to read,
// and an end, whatever the program does.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace genv::service {

/// A program gave no answer. The text is a clause for a person, such as "scontrol did not answer in
/// 10 s".
class SlurmProgramError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct SlurmProgramResult {
    int status = 0;     ///< its exit status
    std::string output; ///< standard output and standard error, as they came
};

/// A program that prints more, or takes longer, is ended.
struct SlurmProgramBounds {
    std::chrono::milliseconds deadline{10'000};
    std::size_t maxOutput = 128U << 10U;
};

/// Runs a program and waits for its end. It gets `environment` and no other variable; it and what
/// it started in its process group are ended at the deadline. Throws SlurmProgramError.
SlurmProgramResult runSlurmProgram(const std::filesystem::path& program,
                                   const std::vector<std::string>& arguments,
                                   const std::vector<std::string>& environment,
                                   const SlurmProgramBounds& bounds);

} // namespace genv::service
