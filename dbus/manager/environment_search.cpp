// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/manager/environment_search.hpp"

#include "core/base/error.hpp"
#include "core/ledger/membership.hpp"
#include "dbus/calls/named_process.hpp"
#include "dbus/calls/operation.hpp"
#include "dbus/calls/paths.hpp"

#include <algorithm>
#include <memory>
#include <optional>

namespace genv::dbus {

namespace {

// A pending call.
class EnvironmentSearch : public Operation<EnvironmentSearch, Reply<sdbus::ObjectPath>> {
  public:
    EnvironmentSearch(const BusContext& context, const Reply<sdbus::ObjectPath>& reply,
                      core::Pid pid)
        : Operation(reply), ledger_(context.sharing.ledger), jobs_(context.sharing.jobs),
          processes_(context.machine.processes), calls_(context.calls), pid_(pid) {}

    void start() {
        whenPidIsOurs(calls_, processes_, reply_, pid_,
                      [self = shared_from_this()] { self->search(); });
    }

  private:
    void search() {
        // A root process is identified by its pidfd.
        const auto root = processes_.pinned(pid_);
        if (const core::EnvironmentRecord* own =
                root ? ledger_.environmentOfRoot(*root) : nullptr) {
            reply_.send(environmentPath(own->id));
            return;
        }
        place_ = calls_.listCalls.enter(caller().uid);
        processes_.lineage(pid_, caller().uid, later(&EnvironmentSearch::lookUp));
    }

    void lookUp(const core::ProcessRead<core::Lineage>& read) {
        const core::Lineage& lineage = read.get();
        facts_ = lineage.facts;
        const core::EnvironmentRecord* environment = core::environmentOfDescendant(
            core::lookupIn(ledger_), lineage.facts, lineage.ancestors);
        if (environment == nullptr && hasJobs())
            processes_.slurmCgroup(pid_, caller().uid, later(&EnvironmentSearch::lookUpJob));
        else
            answer(environment);
    }

    void lookUpJob(const core::ProcessRead<std::optional<core::SlurmCgroup>>& read) {
        cgroup_ = read.get();
        if (cgroup_)
            jobs_.identify(cgroup_->job, later(&EnvironmentSearch::answerJob));
        else
            answer(nullptr);
    }

    void answerJob() { answer(core::environmentOfJob(core::lookupIn(ledger_), facts_, cgroup_)); }

    [[nodiscard]] bool hasJobs() const {
        return std::ranges::any_of(ledger_.environments(),
                                   [](const auto& entry) { return entry.second.job.has_value(); });
    }

    void answer(const core::EnvironmentRecord* environment) const {
        if (environment == nullptr)
            core::fail(core::ErrorCode::NoSuchEnvironment, "process {} is in no environment", pid_);
        reply_.send(environmentPath(environment->id));
    }

    const core::LedgerView& ledger_;
    core::Jobs& jobs_;
    core::Processes& processes_;
    const Calls& calls_;
    const core::Pid pid_;
    core::ProcessFacts facts_;
    std::optional<core::SlurmCgroup> cgroup_;
    std::shared_ptr<void> place_; ///< counts the call while the process is read
};

} // namespace

void findEnvironment(const BusContext& context, const Reply<sdbus::ObjectPath>& reply,
                     core::Pid pid) {
    std::make_shared<EnvironmentSearch>(context, reply, pid)->start();
}

} // namespace genv::dbus
