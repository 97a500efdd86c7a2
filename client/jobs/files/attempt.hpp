// SPDX-License-Identifier: LGPL-2.1-or-later
// What genv-jobs and genv-job tell each other about an attempt, through files beside the database.
// They last over crashes and reboots, and each step is one rename:
//
//   JOB.TASK.ATTEMPT.ready     what to run; written by genv-jobs before it starts the unit
//   JOB.TASK.ATTEMPT.started   the same file: genv-job renamed it, which is the start mark
//   JOB.TASK.ATTEMPT.ended     how the command ended; written by genv-job
//
// JOB.TASK.ATTEMPT.written and .reserved are files that are not complete yet.
//
// Only one of claim() and revoke() succeeds, whatever happens to their processes. So an attempt
// that was revoked never runs, and one that was claimed is never started anew.
#pragma once

#include "client/jobs/model/job.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace genv::jobs {

/// What genv-job needs in order to run an attempt. Texts may hold any byte but 0.
struct AttemptOrder {
    std::vector<std::string> command; ///< with "{}" replaced
    std::string folder;
    std::vector<std::string> variables; ///< NAME=VALUE; all but the folder of the shims in PATH
    std::uint32_t umask = 022;
    std::string environmentId; ///< of genv
    std::string statusFile;    ///< of the environment, a path; "" if genvd writes none
    std::string output;        ///< path
    bool outputIsLog = false;  ///< a log of genv-jobs, with its size limit
};

/// "17.3.1", for files and the unit.
[[nodiscard]] std::string textOf(const AttemptName& attempt);
/// Reads that text. Returns nothing for anything else.
[[nodiscard]] std::optional<AttemptName> parseAttemptName(std::string_view text);

/// The files of all attempts, in one folder. Every change is on the disk when the call returns.
/// Functions throw JobError (StorageFailed), also for a file that is invalid or a symbolic link.
class AttemptFiles {
  public:
    explicit AttemptFiles(std::filesystem::path folder);

    /// Throws also for an attempt that was claimed before.
    void write(const AttemptName& attempt, const AttemptOrder& order) const;
    /// Makes the start mark and returns the order; nothing if it was revoked or is not there.
    [[nodiscard]] std::optional<AttemptOrder> claim(const AttemptName& attempt) const;
    /// Reads the order before the claim; nothing if there is none.
    [[nodiscard]] std::optional<AttemptOrder> read(const AttemptName& attempt) const;
    /// Removes an order that was not claimed. Returns false if it was.
    [[nodiscard]] bool revoke(const AttemptName& attempt) const;
    [[nodiscard]] bool isClaimed(const AttemptName& attempt) const;
    /// Takes the disk space that writeEnding() needs, so that a disk that is full by then does not
    /// lose how the attempt ended. Does nothing if there is no space now.
    void reserveEnding(const AttemptName& attempt) const noexcept;
    void writeEnding(const AttemptName& attempt, const AttemptEnding& ending) const;
    /// Returns nothing if there is none: the attempt runs, or is lost.
    [[nodiscard]] std::optional<AttemptEnding> ending(const AttemptName& attempt) const;
    /// Removes all files of an attempt. After a crash of the machine they may be there again.
    void remove(const AttemptName& attempt) const;
    /// The attempts that have files, in any order.
    [[nodiscard]] std::vector<AttemptName> list() const;

  private:
    std::filesystem::path folder_;
};

} // namespace genv::jobs
