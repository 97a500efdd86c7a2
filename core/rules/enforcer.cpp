// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/rules/enforcer.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/ledger/membership.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace genv::core {

namespace {

constexpr std::chrono::minutes askAgainAfter{5};
constexpr std::size_t maxReasonLength = 512;

std::string nameOf(Uid uid, const std::map<Uid, UserInfo>& users) {
    const auto user = users.find(uid);
    return user != users.end() ? user->second.name : std::to_string(uid);
}

std::string ruleOf(const Decision& decision) {
    const auto* byRule = std::get_if<RuleDecision>(&decision);
    return byRule != nullptr ? std::string(nameOf(byRule->rule)) : std::string();
}

Reason reasonFor(const Decision& decision) {
    const auto* byRule = std::get_if<RuleDecision>(&decision);
    return byRule != nullptr ? reasonOf(byRule->rule) : Reason::admin();
}

// Returns the user who is named in messages about a process that ends.
Uid userOf(const Ending& ending, const Decision& decision) {
    const auto* byRule = std::get_if<RuleDecision>(&decision);
    return byRule != nullptr ? byRule->user : ending.user;
}

} // namespace

std::string_view nameOf(EnforcementEntry::Kind kind) {
    switch (kind) {
    case EnforcementEntry::Kind::Finding:
        return "finding";
    case EnforcementEntry::Kind::Terminate:
        return "terminate";
    case EnforcementEntry::Kind::Detach:
        return "detach";
    case EnforcementEntry::Kind::End:
        return "end";
    case EnforcementEntry::Kind::Cancel:
        return "cancel";
    case EnforcementEntry::Kind::Requeue:
        return "requeue";
    case EnforcementEntry::Kind::Failed:
        break;
    }
    return "failed";
}

std::string describeTerminating(Mood mood, Pid pid, const std::optional<EnvironmentId>& environment,
                                const std::vector<DeviceIndex>& devices) {
    return fmt::format("{} process {} from environment {} that is running on GPU(s) {}",
                       mood == Mood::Does ? "Terminating" : "Would terminate", pid,
                       environment.value_or("N/A"), fmt::join(devices, ","));
}

std::string describeDetaching(Mood mood, const EnvironmentId& environment, const std::string& user,
                              DeviceIndex device) {
    return fmt::format("{} environment {} of user {} from device {}",
                       mood == Mood::Does ? "Detaching" : "Would detach", environment, user,
                       device);
}

std::string describeEnding(Mood mood, const EnvironmentId& environment, const std::string& user) {
    return fmt::format("{} environment {} of user {}", mood == Mood::Does ? "Ending" : "Would end",
                       environment, user);
}

std::string describeCancelling(Mood mood, SlurmJobId job, const std::string& user) {
    return fmt::format("{} Slurm job {} of user {}",
                       mood == Mood::Does ? "Canceling" : "Would cancel", job, user);
}

std::string describeRequeueing(Mood mood, SlurmJobId job, const std::string& user) {
    return fmt::format("{} Slurm job {} of user {}",
                       mood == Mood::Does ? "Requeueing" : "Would requeue", job, user);
}

// A cycle that is being carried out. Terminations finish one by one, and the last one completes the
// cycle.
struct Enforcer::Round {
    EnforcementOptions options;
    std::map<Uid, UserInfo> users;
    Turn turn;
    Answer answer;
    std::vector<EnforcementEntry> findings{};
    std::vector<EnforcementEntry> terminations{};
    std::vector<EnforcementEntry> detachments{};
    std::vector<EnforcementEntry> unmatched{}; ///< entries of a report that no longer apply
    std::size_t unanswered = 1; ///< number of pending terminations, plus one for the round itself

    void answered() {
        if (--unanswered > 0)
            return;
        std::vector<EnforcementEntry> all = std::move(findings);
        for (const auto* more : {&terminations, &detachments, &unmatched})
            all.insert(all.end(), more->begin(), more->end());
        turn.reset();
        answer(&all, {});
    }
};

Enforcer::Turn Enforcer::takeTurn(const EnforcementOptions& options) {
    if (options.dryRun)
        return nullptr;
    if (std::exchange(running_, true))
        fail(ErrorCode::Busy, "an enforcement is running already; try again in a moment");
    return {this, [this](void*) { running_ = false; }};
}

void Enforcer::observe(std::chrono::milliseconds maxAge, const Answer& answer,
                       std::function<void(std::shared_ptr<const Observation>)> use) {
    parts_.observer.observe(maxAge, [answer, use = std::move(use)](
                                        const std::shared_ptr<const Observation>& observation,
                                        const std::string& failure) {
        if (observation)
            use(observation);
        else
            answer(nullptr, failure);
    });
}

void Enforcer::run(const RuleSet& rules, const EnforcementOptions& options, const Answer& answer) {
    // Any user may request a dry run, as often as they like.
    const bool isFree = options.dryRun && options.actor != 0;
    observe(isFree ? freshSample : std::chrono::milliseconds{0}, answer,
            [this, rules, options, answer, turn = takeTurn(options)](const auto& seen) {
                withFindings(
                    seen, rules,
                    [this, options, answer, turn](const auto& findings, const auto& users) {
                        if (!options.dryRun) {
                            for (const Finding& finding : findings)
                                parts_.log.notice("{} (enforced by uid {})", finding.message,
                                                  options.actor.uid);
                        }
                        carryOut(findings,
                                 std::make_shared<Round>(Round{options, users, turn, answer}));
                    });
            });
}

void Enforcer::execute(EnforcementReport report, EnforcementOptions options, const Answer& answer) {
    options.terminate = options.terminate && report.terminateProcesses;
    observe(std::chrono::milliseconds{0}, answer,
            [this, report = std::move(report), options, answer,
             turn = takeTurn(options)](const auto& seen) {
                const auto described = [this, report, options, answer, turn,
                                        seen](const auto& users) {
                    const auto isProtected = [this](const ObservedProcess& process) {
                        return parts_.terminator.isProtected(process);
                    };
                    carryOut(matchReport(report, *seen, parts_.ledger, isProtected),
                             std::make_shared<Round>(Round{options, users, turn, answer}));
                };
                describeAll(parts_.users, usersOf(parts_.ledger, *seen), described);
            });
}

void Enforcer::watch(const std::shared_ptr<const Observation>& observation,
                     const Settings& settings) {
    if (running_)
        return; // a requested cycle is running; the next own cycle follows soon
    const EnforcementOptions options{settings.dryRun, true, 0};
    const RuleSet rules{
        settings.rules,
        [limits = settings.limits](const UserInfo& user) { return limits.enforcedOn(user); },
        settings.keepGrants};
    withSituation(observation, [this, options, rules,
                                grace = settings.grace](const Situation& situation) {
        markGrants(situation, rules);
        const auto due = dueFindings(evaluate(situation, rules), options, grace);
        // Does not take the turn, so that a requested cycle can run at the same time. A process
        // that both cycles find is ended only once.
        const Answer answer = [this, options](const auto* actions, const std::string&) {
            for (const EnforcementEntry& action : *actions) {
                if (options.dryRun && action.kind != EnforcementEntry::Kind::Finding)
                    parts_.log.notice("dry run: {}", action.message);
            }
        };
        carryOut(due, std::make_shared<Round>(Round{options, situation.users, nullptr, answer}));
    });
}

// The marks say which grants stay only because of KeepGrants=; the log says it once, also over a
// restart.
void Enforcer::markGrants(const Situation& situation, const RuleSet& rules) {
    const Situation holdings{situation.environments, situation.devices, {},
                             situation.idleness,     situation.users,   situation.bootNow};
    const auto over = rules.keepsGrants ? grantsOverLimits(holdings, rules) : GrantsOverLimits{};
    for (const EnvironmentId& id : parts_.ledger.markOverLimits(over))
        parts_.log.notice("environment {} of {} is over a limit; it keeps what it holds until its "
                          "owner gives it back (KeepGrants=yes)",
                          id, escaped(parts_.ledger.get(id).user));
}

void Enforcer::withFindings(
    const std::shared_ptr<const Observation>& observation, const RuleSet& rules,
    const std::function<void(std::vector<Finding>, const std::map<Uid, UserInfo>&)>& use) {
    withSituation(observation, [rules, use](const Situation& situation) {
        use(evaluate(situation, rules), situation.users);
    });
}

void Enforcer::withSituation(const std::shared_ptr<const Observation>& observation,
                             const std::function<void(const Situation&)>& use) {
    const std::set<Uid> uids = usersOf(parts_.ledger, *observation);
    describeAll(parts_.users, uids, [this, observation, use](const std::map<Uid, UserInfo>& users) {
        const auto isProtected = [this](const ObservedProcess& process) {
            return parts_.terminator.isProtected(process);
        };
        const LedgerView& ledger = parts_.ledger;
        const GuardedUses guarded = parts_.guardedUses ? parts_.guardedUses() : GuardedUses{};
        const Situation situation{ledger.environments(),
                                  ledger.devices(),
                                  runningProcesses(ledger, *observation, isProtected, guarded),
                                  parts_.idleness,
                                  users,
                                  parts_.clock.bootNow()};
        use(situation);
    });
}

std::vector<Finding> Enforcer::dueFindings(std::vector<Finding> findings,
                                           const EnforcementOptions& options,
                                           std::chrono::milliseconds grace) {
    const BootTime now = parts_.clock.bootNow();
    std::map<std::string, Violation> lasting;
    std::vector<Finding> due;
    for (Finding& finding : findings) {
        const auto known = lasting_.find(finding.subject);
        const bool isOnlyWarnedOf =
            !finding.consequences.idleJobs.empty() && idleAction() == SlurmIdleAction::Warn;
        // If the configuration changed so that an action follows now, the grace period begins now.
        const bool isNew =
            known == lasting_.end() || (known->second.isOnlyWarnedOf && !isOnlyWarnedOf);
        Violation violation = isNew ? Violation{now} : known->second;
        violation.isOnlyWarnedOf = isOnlyWarnedOf;
        const bool wasDue = violation.due;
        violation.due = now - violation.since >= grace;
        lasting[finding.subject] = violation;
        if (isNew && isOnlyWarnedOf)
            warn(finding, std::chrono::milliseconds{0}); // no action follows
        else if (isNew && !violation.due)
            warn(finding, grace);
        if (violation.due && !wasDue)
            parts_.log.notice("{}", finding.message);
        if (violation.due && !(options.dryRun && wasDue)) // a dry run reports it once
            due.push_back(std::move(finding));
    }
    lasting_ = std::move(lasting); // a violation that ended and begins again is new
    return due;
}

void Enforcer::warn(const Finding& finding, std::chrono::milliseconds remaining) const {
    parts_.events.emit(RuleWarning{finding.user, finding.environment,
                                   std::string(nameOf(finding.rule)), finding.message, remaining});
}

void Enforcer::carryOut(const std::vector<Finding>& findings, const std::shared_ptr<Round>& round) {
    for (const Finding& finding : findings) {
        round->findings.push_back({EnforcementEntry::Kind::Finding,
                                   std::string(nameOf(finding.rule)),
                                   finding.message,
                                   std::nullopt,
                                   finding.environment,
                                   nameOf(finding.user, round->users),
                                   {}});
        carryOut(finding.consequences, RuleDecision{finding.rule, finding.user}, round);
    }
    round->answered();
}

void Enforcer::carryOut(MatchedReport matched, const std::shared_ptr<Round>& round) {
    round->unmatched = std::move(matched.unmatched);
    carryOut(matched.consequences, ReportDecision{}, round);
    round->answered();
}

void Enforcer::carryOut(const Consequences& consequences, const Decision& decision,
                        const std::shared_ptr<Round>& round) {
    const auto* byRule = std::get_if<RuleDecision>(&decision);
    if (byRule != nullptr && byRule->rule == Rule::IdleTimeout && consequences.idleJobs.empty() &&
        parts_.parksIdle && parts_.parksIdle()) {
        if (!round->options.dryRun)
            parkIdle(consequences);
        return;
    }
    if (round->options.terminate) {
        for (const Ending& ending : consequences.endings)
            end(ending, decision, round);
    }
    // A rule lists the processes that end with its detachments; a report may not.
    const bool endsProcesses =
        std::holds_alternative<ReportDecision>(decision) && round->options.terminate;
    const Cause cause{reasonFor(decision), round->options.actor, endsProcesses};
    for (const Detachment& detachment : consequences.detachments)
        detach(detachment, ruleOf(decision), cause, *round);
    for (const EnvironmentId& id : consequences.ended)
        endEnvironment(id, ruleOf(decision), cause, *round);
    for (const SlurmJobId job : consequences.idleJobs)
        endIdleJob(job, ruleOf(decision), round);
}

void Enforcer::end(const Ending& ending, const Decision& decision,
                   const std::shared_ptr<Round>& round) {
    const Pid pid = ending.process.identity.pid;
    const auto indices = parts_.ledger.devices().indicesOf(ending.devices);
    EnforcementEntry action{
        EnforcementEntry::Kind::Terminate,
        ruleOf(decision),
        describeTerminating(round->options.mood(), pid, ending.environment, indices),
        pid,
        ending.environment,
        nameOf(userOf(ending, decision), round->users),
        indices};
    if (round->options.dryRun) {
        round->terminations.push_back(std::move(action));
        return;
    }
    const Cause cause{reasonFor(decision), round->options.actor};
    ++round->unanswered;
    parts_.terminator.terminate(
        {ending.process, ending.user, ending.devices, ending.environment, cause},
        [round, action = std::move(action), pid](TerminationOutcome outcome) mutable {
            if (outcome != TerminationOutcome::Signalled) {
                action.kind = EnforcementEntry::Kind::Failed;
                action.message = describe(outcome, pid);
            }
            round->terminations.push_back(std::move(action));
            round->answered();
        });
}

void Enforcer::detach(const Detachment& detachment, const std::string& rule, const Cause& cause,
                      Round& round) {
    const EnvironmentRecord* environment = parts_.ledger.find(detachment.environment);
    const TableDevice* device = parts_.ledger.devices().findUuid(detachment.device);
    if (environment == nullptr || device == nullptr)
        return;
    round.detachments.push_back({EnforcementEntry::Kind::Detach,
                                 rule,
                                 describeDetaching(round.options.mood(), environment->id,
                                                   environment->user, device->facts.index),
                                 std::nullopt,
                                 environment->id,
                                 environment->user,
                                 {device->facts.index}});
    if (!round.options.dryRun)
        parts_.ledger.takeAway(EnvironmentId(environment->id), detachment.device, cause);
}

// Nothing happens while nobody waits for the device.
void Enforcer::parkIdle(const Consequences& consequences) {
    for (const Detachment& detachment : consequences.detachments) {
        if (parts_.parkIdle(detachment.environment, detachment.device))
            parts_.log.notice("parking environment {}: its devices are idle, and somebody waits "
                              "for them",
                              detachment.environment);
    }
}

void Enforcer::endEnvironment(const EnvironmentId& id, const std::string& rule, const Cause& cause,
                              Round& round) {
    const EnvironmentRecord* environment = parts_.ledger.find(id);
    if (environment == nullptr)
        return;
    round.detachments.push_back({EnforcementEntry::Kind::End,
                                 rule,
                                 describeEnding(round.options.mood(), id, environment->user),
                                 std::nullopt,
                                 id,
                                 environment->user,
                                 {}});
    if (!round.options.dryRun)
        parts_.ledger.end(id, cause);
}

SlurmIdleAction Enforcer::idleAction() const {
    return parts_.slurm != nullptr && parts_.idleAction ? parts_.idleAction()
                                                        : SlurmIdleAction::Warn;
}

// After a request to Slurm, it may take minutes until the job is gone.
void Enforcer::endIdleJob(SlurmJobId job, const std::string& rule,
                          const std::shared_ptr<Round>& round) {
    const SlurmIdleAction what = idleAction();
    const EnvironmentId id = environmentIdOf(job);
    const EnvironmentRecord* environment = parts_.ledger.find(id);
    if (what == SlurmIdleAction::Warn || environment == nullptr)
        return;
    const bool cancels = what == SlurmIdleAction::Cancel;
    EnforcementEntry action{
        cancels ? EnforcementEntry::Kind::Cancel : EnforcementEntry::Kind::Requeue,
        rule,
        (cancels ? describeCancelling : describeRequeueing)(round->options.mood(), job,
                                                            environment->user),
        std::nullopt,
        id,
        environment->user,
        environment->deviceIndices()};
    if (round->options.dryRun) {
        round->detachments.push_back(std::move(action));
        return;
    }
    const BootTime now = parts_.clock.bootNow();
    std::erase_if(asked_, [&](const auto& entry) { return entry.second + askAgainAfter < now; });
    if (!asked_.emplace(job, now).second)
        return;
    parts_.log.notice("{}: it is idle", action.message);
    ++round->unanswered;
    auto done = [this, round, action = std::move(action),
                 job](const std::optional<SlurmFailure>& failure) mutable {
        if (failure) {
            action.kind = EnforcementEntry::Kind::Failed;
            action.message = fmt::format("[ERROR] Slurm did nothing about job {}: {}", job,
                                         escaped(failure->reason, maxReasonLength));
            parts_.log.error("{}", action.message);
        }
        round->detachments.push_back(std::move(action));
        round->answered();
    };
    if (cancels)
        parts_.slurm->cancel(job, std::move(done));
    else
        parts_.slurm->requeue(job, std::move(done));
}

} // namespace genv::core
