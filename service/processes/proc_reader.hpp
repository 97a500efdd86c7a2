// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads processes through a helper that can be killed (proc_server.hpp). One user's processes
// cannot extend the time limits for others. A user can make any reader of their processes' entries
// wait forever. In this case, the helper is killed, and the next one continues with the other
// processes. A process that hung is not read again for a minute. If too many processes of a user
// hang, the others of this user are not read this time.
//
// Workers call this, never the loop. A wait on the loop would be short for one process, but a user
// can create more processes than any limit on a wait allows for.
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

/// The process hangs its readers.
struct ProcHung {};
/// The process was not read, because others of its user hung or the time ran out.
struct ProcPostponed {};

/// The result of a request. ProcShortage can also mean that no helper could be started.
using ProcReading =
    std::variant<ProcGone, ProcShortage, core::ProcessIdentity, core::ProcessFacts, core::Lineage,
                 ProcClaims, ProcArguments, ProcLogin, ProcPidNamespace, ProcHung, ProcPostponed>;

/// How long hung processes may delay one look at processes, however many calls it takes.
struct ProcBudget {
    std::size_t hangsPerUser = 4;              ///< then the user's other processes are postponed
    std::chrono::milliseconds remaining{1000}; ///< then all other processes are postponed
    std::map<core::Uid, std::size_t> hangs{};  ///< so far
};

/// The shared parts of readers. Copies share the list of hung processes.
struct ProcAccess {
    ProcProgram program;
    std::shared_ptr<HungProcesses> hung;
};

/// Used by one thread at a time. The helper ends together with the thread that first needed it.
class ProcReader {
  public:
    /// How long an entry may take without counting as hung. The budget of a look allows for four
    /// hung entries.
    static constexpr std::chrono::milliseconds answerTime{200};

    explicit ProcReader(ProcAccess access) : access_(std::move(access)) {}
    ~ProcReader();
    ProcReader(const ProcReader&) = delete;
    ProcReader& operator=(const ProcReader&) = delete;

    /// Executes the requests in any order. Returns the readings in the order of the requests.
    std::vector<ProcReading> read(const std::vector<ProcRequest>& requests, ProcBudget& budget);
    ProcReading read(ProcRequest request, ProcBudget& budget);

    [[nodiscard]] HungProcesses& hung() const { return *access_.hung; }

  private:
    class Look;

    ProcHelper& helper();
    void endHelper();
    void logOnce(const std::string& trouble);

    ProcAccess access_;
    std::optional<ProcHelper> helper_;
    std::list<ChildProcess> hanging_; // killed, but not dead yet
    std::string trouble_;             // the last logged problem with the helper
};

} // namespace genv::service
