// SPDX-License-Identifier: LGPL-2.1-or-later
// The numbers of Slurm jobs that are only known by their SLUID. Slurm is asked, and the answer is
// kept, since a SLUID never means another job.
#pragma once

#include "core/ports/clock.hpp"
#include "core/ports/log.hpp"
#include "core/ports/slurm.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace genv::core {

/// How long after a failure Slurm is not asked for the same job again.
inline constexpr std::chrono::minutes askJobAgainAfter{1};
/// How long an answer is kept after its last use.
inline constexpr std::chrono::minutes jobAnswerKeptFor{10};

class JobNumbers {
  public:
    using Answer = std::function<void(std::optional<SlurmJobId>)>;

    /// All referenced objects must outlive this one, which must outlive the last iteration of the
    /// loop.
    JobNumbers(Slurm& slurm, const Clock& clock, Log& log)
        : slurm_(slurm), clock_(clock), log_(log) {}

    /// Finds the number of a job. The answer is empty if Slurm does not know the job or does not
    /// answer. It comes before this returns if Slurm need not be asked. Simultaneous requests for
    /// the same job share a question.
    void find(Sluid sluid, Answer answer);
    /// Returns the number of a job if it is known without asking Slurm.
    [[nodiscard]] std::optional<SlurmJobId> known(Sluid sluid) const;

  private:
    struct Entry {
        std::optional<SlurmJobId> job; ///< unset: Slurm has not said it
        BootTime used;                 ///< when it was last looked for
        BootTime answered;             ///< when Slurm last answered
        bool isAsked = false;          ///< Slurm has not answered yet
        bool isFailureLogged = false;
        std::vector<Answer> waiting{};
    };

    void forgetUnused();
    void take(Sluid sluid, const std::variant<SlurmJobId, SlurmFailure>& found);

    Slurm& slurm_;
    const Clock& clock_;
    Log& log_;
    std::map<Sluid, Entry> entries_;
};

} // namespace genv::core
