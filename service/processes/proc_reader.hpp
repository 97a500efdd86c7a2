// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads processes through a helper that can be killed (proc_server.hpp), within bounds that no user
// moves for others. A user can keep a reader of their processes' entries waiting for ever; then the
// helper is killed and the next one goes on with the other processes. A process that hung is not
// read again for a minute; one whose user let too many hang is not read this time.
//
// Called by workers, and never by the loop: a wait on the loop would be short for one process, and
// a user can make more processes than any bound for a wait allows.
#pragma once

#include "service/processes/hung_processes.hpp"
#include "service/processes/proc_helper.hpp"
#include "service/processes/proc_protocol.hpp"

#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace genv::service {

/// The process hangs whoever reads it.
struct ProcHung {};
/// It was not read, since others of its user hung or too long was waited already.
struct ProcPostponed {};

/// What came of a request. ProcShortage is also said when no helper can be started.
using ProcReading = std::variant<ProcGone, ProcShortage, core::ProcessFacts, core::Lineage,
                                 ProcClaims, ProcArguments, ProcLogin, ProcHung, ProcPostponed>;

/// How long processes that hang may hold up one look at processes, however many calls it takes.
struct ProcBudget {
    std::size_t hangsPerUser = 4;             ///< then the user's others are postponed
    std::chrono::milliseconds left{1000};     ///< then all others are
    std::map<core::Uid, std::size_t> hangs{}; ///< so far
};

/// What a reader works with. Copies share what is known of hung processes.
struct ProcAccess {
    ProcProgram program;
    std::shared_ptr<HungProcesses> hung;
};

/// Used by one thread at a time; the helper ends with the thread that first needed it.
class ProcReader {
  public:
    /// How long an entry may take that does not hang: four that do fit into the budget of a look.
    static constexpr std::chrono::milliseconds answerTime{200};

    explicit ProcReader(ProcAccess access) : access_(std::move(access)) {}
    ~ProcReader();
    ProcReader(const ProcReader&) = delete;
    ProcReader& operator=(const ProcReader&) = delete;

    /// Reads all of this, in any order, and answers in the order of the requests.
    std::vector<ProcReading> read(const std::vector<ProcRequest>& requests, ProcBudget& budget);
    ProcReading read(ProcRequest request, ProcBudget& budget);

    [[nodiscard]] HungProcesses& hung() const { return *access_.hung; }

  private:
    class Look;

    ProcHelper& helper();
    void endHelper();
    void tellOnce(const std::string& trouble);

    ProcAccess access_;
    std::optional<ProcHelper> helper_;
    std::list<ChildProcess> hanging_; // killed, and not dead yet
    std::string trouble_;             // what was last told of the helper
};

} // namespace genv::service
