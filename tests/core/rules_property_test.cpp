// SPDX-License-Identifier: LGPL-2.1-or-later
// Thousands of random machines: every finding of a rule is true, its consequences are no more than
// necessary, and afterwards there are no findings.
#include "tests/core/rules_fixture.hpp"
#include "tests/core/rules_model.hpp"

#include <random>

namespace genv::tests {
namespace {

using namespace std::chrono_literals;

class World : public RulesTest {
  public:
    explicit World(std::uint32_t seed) : RulesTest(deviceCount), random_(seed) {
        users = {{root, {root, "root", {}}}};
        for (const core::Uid uid : people)
            users[uid] = {uid, "user" + std::to_string(uid), groupsOf(uid)};
        chooseRules();
        const std::uint32_t environments = below(9);
        for (std::uint32_t i = 0; i < environments; ++i)
            addEnvironment(std::to_string(20 + i));
        const std::uint32_t running = below(16);
        for (std::uint32_t i = 0; i < running; ++i)
            addProcess(500 + i);
        passTime();
        describe();
    }
    void TestBody() override {}

    std::vector<core::Finding> evaluateNow() { return findings(); }

    void carryOut(const std::vector<core::Finding>& all) {
        for (const core::Finding& finding : all) {
            const core::Cause cause{core::reasonOf(finding.rule), 0};
            for (const core::Ending& ending : finding.consequences.endings) {
                std::erase_if(seen.processes, [&](const core::ObservedProcess& process) {
                    return process.facts.identity == ending.process.identity;
                });
            }
            for (const core::Detachment& detachment : finding.consequences.detachments)
                ledger.takeAway(detachment.environment, detachment.device, cause);
            for (const core::EnvironmentId& id : finding.consequences.ended)
                ledger.end(id, cause);
        }
    }

    RulesModel model;

  private:
    static constexpr core::DeviceIndex deviceCount = 5;
    static constexpr core::Uid container = 4242; ///< a uid inside a user namespace
    static constexpr core::Gid even = 2000;
    static constexpr core::Gid late = 2001;
    static inline const std::vector<core::Uid> people{1001, 1002, 1003, 1004, container};

    std::uint32_t below(std::uint32_t bound) {
        return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(random_);
    }
    bool oneIn(std::uint32_t chances) { return below(chances) == 0; }
    core::Uid somebody() { return oneIn(8) ? root : people[below(4)]; }
    std::vector<core::Gid> groupsOf(core::Uid uid) {
        std::vector<core::Gid> groups;
        if (uid % 2 == 0)
            groups.push_back(even);
        if (uid > 1002)
            groups.push_back(late);
        return groups;
    }

    core::Limits someLimits() {
        core::Limits limits;
        if (oneIn(3))
            limits.maxDevices = below(4);
        if (oneIn(3))
            limits.maxDevicesPerEnvironment = below(3);
        if (oneIn(3))
            limits.maxEnvironments = below(3);
        if (oneIn(3))
            limits.maxProcesses = below(4);
        if (oneIn(3))
            limits.maxGpuMemory = mebibytes(below(40));
        if (oneIn(3))
            limits.maxGpuMemoryPerDevice = mebibytes(below(20));
        if (oneIn(4))
            limits.maxLifetime = std::chrono::minutes{below(60)};
        if (oneIn(4))
            limits.idleTimeout = std::chrono::minutes{below(60)};
        return limits;
    }
    void chooseRules() {
        table.general = someLimits();
        for (const char* name : {"user1001", "user1003"})
            table.users[name] = someLimits();
        for (const char* name : {"even", "late", "nobody"})
            table.groups[name] = someLimits();
        table.ids.groups.names = {{even, {"even"}}, {late, {"late"}}};
        rules.switches.nonEnvProcesses = oneIn(2);
        // The end of an environment ends the processes on its devices. Without the rule env-devices
        // it may have other processes, which then belong to no environment and are left to the next
        // cycle.
        rules.switches.envDevices = rules.switches.nonEnvProcesses || oneIn(2);
        rules.switches.envMemory = oneIn(2);
    }

    void addEnvironment(const std::string& id) {
        const core::Uid owner = somebody();
        core::NewEnvironment wanted =
            newEnvironment(id, owner, static_cast<core::Pid>(std::stoul(id)));
        wanted.exempt = oneIn(6);
        ledger.activate(std::move(wanted), std::nullopt, root);
        for (core::DeviceIndex device = 0; device < deviceCount; ++device) {
            if (!oneIn(3))
                continue;
            std::optional<core::Bytes> share;
            if (!oneIn(3))
                share = mebibytes(1 + below(15));
            const core::AttachRequest request{core::IndicesWanted{{device}}, std::nullopt, share,
                                              true};
            ledger.attach(id, planned(id, request), root, {oneIn(5), std::nullopt});
        }
        clock.pass(std::chrono::minutes{below(20)});
    }

    void addProcess(core::Pid pid) {
        std::vector<std::pair<core::DeviceIndex, std::optional<core::Bytes>>> uses;
        std::vector<const core::EnvironmentRecord*> environments;
        for (const auto& [sequence, environment] : ledger.environments())
            environments.push_back(&environment);
        const core::EnvironmentRecord* environment =
            environments.empty() || oneIn(5)
                ? nullptr
                : environments[below(static_cast<std::uint32_t>(environments.size()))];
        for (core::DeviceIndex device = 0; device < deviceCount; ++device) {
            const bool isAttached =
                environment != nullptr &&
                environment->attachmentTo("GPU-" + std::to_string(device)) != nullptr;
            if (isAttached ? oneIn(2) : oneIn(environment != nullptr ? 30 : 4))
                uses.emplace_back(device,
                                  oneIn(6) ? std::nullopt : std::optional(mebibytes(below(12))));
        }
        if (uses.empty())
            uses.emplace_back(below(deviceCount), mebibytes(below(12)));
        core::Uid uid = environment != nullptr ? environment->uid : somebody();
        const auto now = static_cast<std::uint64_t>(clock.bootNow().time_since_epoch() /
                                                    std::chrono::milliseconds{10});
        core::ObservedProcess& process = run(pid, uid, uses, std::nullopt, now + below(10));
        if (environment != nullptr) {
            // The variables as genv sets them. A program may drop the stamp if its uids are the
            // owner's.
            core::EnvironmentHint hint{environment->id, environment->created};
            if (oneIn(2))
                process.environmentHint = hint;
            else
                process.ancestors = {{9999, 7}, environment->processes.front().identity};
            if (oneIn(8)) {
                process.facts.uids = {0, 0, 0, 0};
            } else if (process.environmentHint && oneIn(2)) {
                process.environmentHint->created.reset();
            } else if (rules.switches.envDevices && oneIn(8)) {
                process.facts.uids = {container, container, container, container};
                process.userNamespaceOwner = environment->uid;
                process.environmentHint = hint;
            }
        } else if (oneIn(6)) {
            process.facts.uids.saved = 0;
        }
        ModelProcess modelled{pid,
                              environment != nullptr ? environment->id : "",
                              environment != nullptr ? environment->uid : uid,
                              process.facts.uids.hasRoot(),
                              {}};
        for (const core::ComputeUse& use : process.uses)
            modelled.uses[use.device] = use.usedMemory;
        if (oneIn(10))
            shielded.insert(pid);
        else
            model.processes.push_back(std::move(modelled));
    }

    void passTime() {
        for (int look = 0; look < 3; ++look) {
            seen.started = clock.bootNow();
            for (core::DeviceSample& device : seen.devices)
                device.reading.utilizationPercent = below(2) * 50;
            idleness.observed(ledger, seen);
            clock.pass(std::chrono::minutes{below(20)});
        }
    }

    void describe() {
        model.rules = rules;
        model.limitsOf = [this](core::Uid uid) { return table.of(users.at(uid)); };
        for (const auto& [sequence, environment] : ledger.environments()) {
            ModelEnvironment modelled{environment.id,
                                      environment.uid,
                                      environment.exempt,
                                      environment.sequence,
                                      std::chrono::duration_cast<std::chrono::milliseconds>(
                                          clock.bootNow() - environment.began),
                                      {}};
            for (const core::DeviceAttachment& attachment : environment.attachments) {
                modelled.holds[attachment.device.uuid] = {
                    attachment.share, attachment.exempt,
                    idleness.of(environment.id, attachment.device.uuid, clock.bootNow())};
            }
            model.environments.push_back(std::move(modelled));
        }
    }

    std::mt19937 random_;
};

TEST(RulesProperty, FindWhatIsSoDoNoMoreThanNeededAndLeaveNothingToFind) {
    std::map<core::Rule, int> found;
    std::size_t untouched = 0;
    for (std::uint32_t seed = 1; seed <= 800; ++seed) {
        SCOPED_TRACE(seed);
        World world(seed);
        const std::vector<core::Finding> all = world.evaluateNow();
        for (const core::Finding& finding : all) {
            ++found[finding.rule];
            world.model.judge(finding);
        }
        untouched += world.model.processes.size();
        world.model.expectSound();
        world.carryOut(all);
        for (const core::Finding& again : world.evaluateNow())
            ADD_FAILURE() << "found after everything was done: " << again.message;
        if (::testing::Test::HasFailure())
            break; // the first failure is enough to investigate
    }
    for (const auto rule :
         {core::Rule::NonEnvProcesses, core::Rule::EnvDevices, core::Rule::MaxLifetime,
          core::Rule::MaxEnvironmentsPerUser, core::Rule::MaxDevicesPerUser,
          core::Rule::IdleTimeout, core::Rule::EnvMemory, core::Rule::MaxProcessesPerUser,
          core::Rule::MaxGpuMemoryPerDevice, core::Rule::MaxGpuMemoryPerUser})
        EXPECT_GE(found[rule], 40) << core::nameOf(rule) << " was hardly tried";
    EXPECT_GE(untouched, 800U) << "hardly anything was innocent";
}

} // namespace
} // namespace genv::tests
