// SPDX-License-Identifier: LGPL-2.1-or-later
// Carries out the findings of rules: in the service's own cycles, which warn before they act, in
// cycles that a user requests, and in reports that were decided elsewhere. Only this class turns
// findings into detachments and terminations, and both into messages.
#pragma once

#include "core/devices/idleness.hpp"
#include "core/ledger/ledger.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/log.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/slurm.hpp"
#include "core/ports/users.hpp"
#include "core/rules/action.hpp"
#include "core/rules/report.hpp"
#include "core/rules/rule.hpp"
#include "core/rules/terminator.hpp"
#include "core/settings/settings.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace genv::core {

/// The options of a cycle.
struct EnforcementOptions {
    bool dryRun = false;
    bool terminate = true; ///< false: environments are detached, but no process is signalled
    Actor actor = {};

    [[nodiscard]] Mood mood() const { return dryRun ? Mood::Would : Mood::Does; }
};

/// A rule found a violation. Actions and reasons contain the name of the rule.
struct RuleDecision {
    Rule rule;
    Uid user = 0; ///< the user who violates the rule
};

/// A report requests the action. The reason was decided elsewhere.
struct ReportDecision {};

/// The origin of the decision that is carried out.
using Decision = std::variant<RuleDecision, ReportDecision>;

class Enforcer {
  public:
    /// Called with the actions, or with null and the reason why the driver did not answer.
    using Answer =
        std::function<void(const std::vector<EnforcementEntry>*, const std::string& failure)>;

    struct Parts {
        Ledger& ledger;
        Observer& observer;
        Users& users;
        Terminator& terminator;
        const Idleness& idleness;
        const Clock& clock;
        const EventHub& events;
        Log& log;
        /// Cancels or requeues idle jobs; null: nothing does.
        Slurm* slurm = nullptr;
        /// The action on an idle job. If empty, its owner is warned.
        std::function<SlurmIdleAction()> idleAction = {};
        /// Called for each cycle; empty: nothing is guarded.
        std::function<GuardedUses()> guardedUses = {};
        /// Parks an environment whose device is idle, if somebody waits for it. Empty: the device
        /// is detached.
        std::function<bool(const EnvironmentId&, const DeviceUuid&)> parkIdle = {};
        /// Whether that is to be done.
        std::function<bool()> parksIdle = {};
    };

    /// All parts must outlive this object, which must outlive the last iteration of the loop.
    explicit Enforcer(const Parts& parts) : parts_(parts) {}

    /// Runs one cycle of these rules now. Throws Error(Busy) while another cycle is running, except
    /// for a dry run, which has no side effects.
    void run(const RuleSet& rules, const EnforcementOptions& options, const Answer& answer);

    /// Carries out a report. Each entry is matched against a new observation by PID, device and
    /// environment. Throws Error(Busy) as run() does.
    void execute(EnforcementReport report, EnforcementOptions options, const Answer& answer);

    /// Runs the service's own cycle on an observation: warns the users whose violations are new,
    /// and acts on violations that have lasted for the grace period.
    void watch(const std::shared_ptr<const Observation>& observation, const Settings& settings);

  private:
    struct Round;
    struct Violation {
        BootTime since;
        bool due = false;            ///< it had already lasted for the grace period before
        bool isOnlyWarnedOf = false; ///< no action was to follow the warning (IdleAction=warn)
    };
    /// Held while a cycle is carried out; null for a dry run.
    using Turn = std::shared_ptr<void>;

    [[nodiscard]] Turn takeTurn(const EnforcementOptions& options);
    void observe(std::chrono::milliseconds maxAge, const Answer& answer,
                 std::function<void(std::shared_ptr<const Observation>)> use);
    void withFindings(
        const std::shared_ptr<const Observation>& observation, const RuleSet& rules,
        const std::function<void(std::vector<Finding>, const std::map<Uid, UserInfo>&)>& use);
    void withSituation(const std::shared_ptr<const Observation>& observation,
                       const std::function<void(const Situation&)>& use);
    void markGrants(const Situation& situation, const RuleSet& rules);
    [[nodiscard]] std::vector<Finding> dueFindings(std::vector<Finding> findings,
                                                   const EnforcementOptions& options,
                                                   std::chrono::milliseconds grace);
    void warn(const Finding& finding, std::chrono::milliseconds remaining) const;
    void carryOut(const std::vector<Finding>& findings, const std::shared_ptr<Round>& round);
    void carryOut(MatchedReport matched, const std::shared_ptr<Round>& round);
    void carryOut(const Consequences& consequences, const Decision& decision,
                  const std::shared_ptr<Round>& round);
    void end(const Ending& ending, const Decision& decision, const std::shared_ptr<Round>& round);
    void detach(const Detachment& detachment, const std::string& rule, const Cause& cause,
                Round& round);
    void parkIdle(const Consequences& consequences);
    void endEnvironment(const EnvironmentId& id, const std::string& rule, const Cause& cause,
                        Round& round);
    [[nodiscard]] SlurmIdleAction idleAction() const;
    void endIdleJob(SlurmJobId job, const std::string& rule, const std::shared_ptr<Round>& round);

    const Parts parts_;
    bool running_ = false;
    std::map<std::string, Violation>
        lasting_; ///< violations found by the service's own cycles, by subject
    std::map<SlurmJobId, BootTime> asked_; ///< when Slurm was asked to end an idle job
};

} // namespace genv::core
