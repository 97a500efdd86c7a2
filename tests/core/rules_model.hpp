// SPDX-License-Identifier: LGPL-2.1-or-later
// A second, as simple as possible implementation of the rules that checks the real one: a list of
// processes, a list of environments, and sums over all of them. It knows how the test made each
// process, not how the service finds a process's environment.
#pragma once

#include "core/rules/rule.hpp"
#include "tests/core/fakes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::tests {

struct ModelProcess {
    core::Pid pid = 0;
    std::string environment; ///< empty: none
    core::Uid user = 0;      ///< the user whose limits apply
    bool hasRoot = false;
    std::map<core::DeviceUuid, std::optional<core::Bytes>> uses;
};

struct ModelEnvironment {
    std::string id;
    core::Uid owner = 0;
    bool exempt = false;
    std::uint64_t order = 0;
    std::chrono::milliseconds age{0};
    struct Hold {
        std::optional<core::Bytes> share;
        bool exempt = false;
        std::chrono::milliseconds idle{0};
    };
    std::map<core::DeviceUuid, Hold> holds;
};

class RulesModel {
  public:
    std::vector<ModelProcess> processes;
    std::vector<ModelEnvironment> environments;
    std::function<core::Limits(core::Uid)> limitsOf;
    core::RuleSet rules;

    using Counts = std::function<std::uint64_t(const ModelProcess&)>;

    /// Fails the test unless the finding is a violation and its consequences are exactly the
    /// necessary ones. Then applies them.
    void judge(const core::Finding& finding) {
        SCOPED_TRACE(finding.message);
        switch (finding.rule) {
        case core::Rule::NonEnvProcesses:
            judgeOne(finding,
                     [](const ModelProcess& p) { return p.environment.empty() && !p.hasRoot; });
            break;
        case core::Rule::EnvDevices:
            judgeOne(finding, [this](const ModelProcess& p) { return isAstray(p); });
            break;
        case core::Rule::MaxLifetime:
            judgeLifetime(finding);
            break;
        case core::Rule::MaxEnvironmentsPerUser:
            judgeEnvironments(finding);
            break;
        case core::Rule::MaxPreemptibleDevices:
            ADD_FAILURE() << "nothing is on loan in the model";
            break;
        case core::Rule::MaxDevicesPerEnvironment:
            judgeDevicesOfEnvironment(finding);
            break;
        case core::Rule::MaxDevicesPerUser:
            judgeDevices(finding);
            break;
        case core::Rule::IdleTimeout:
            judgeIdle(finding);
            break;
        case core::Rule::EnvMemory:
        case core::Rule::MaxProcessesPerUser:
        case core::Rule::MaxGpuMemoryPerDevice:
        case core::Rule::MaxGpuMemoryPerUser:
            judgeChoice(finding);
            break;
        }
        carryOut(finding);
    }

    /// Fails the test if any rule is still violated.
    void expectSound() const {
        for (const ModelProcess& process : processes) {
            if (rules.switches.nonEnvProcesses) {
                EXPECT_TRUE(!process.environment.empty() || process.hasRoot) << process.pid;
            }
            if (rules.switches.envDevices) {
                EXPECT_FALSE(isAstray(process)) << process.pid;
            }
        }
        std::set<core::Uid> users;
        for (const ModelProcess& process : processes)
            users.insert(process.user);
        for (const ModelEnvironment& environment : environments) {
            users.insert(environment.owner);
            expectSound(environment);
        }
        for (const core::Uid user : users)
            expectSound(user);
    }

  private:
    static constexpr std::uint64_t unlimited = UINT64_MAX;

    const ModelEnvironment* find(const std::string& id) const {
        for (const ModelEnvironment& environment : environments) {
            if (environment.id == id)
                return &environment;
        }
        return nullptr;
    }
    bool isAstray(const ModelProcess& process) const {
        const ModelEnvironment* environment = find(process.environment);
        return environment != nullptr &&
               std::any_of(process.uses.begin(), process.uses.end(), [&](const auto& use) {
                   return !environment->holds.contains(use.first);
               });
    }
    bool isSpared(const ModelProcess& process, const core::DeviceUuid& device) const {
        const ModelEnvironment* environment = find(process.environment);
        if (environment == nullptr)
            return false;
        const auto hold = environment->holds.find(device);
        return hold != environment->holds.end() && hold->second.exempt;
    }
    static std::uint64_t known(const ModelProcess& process, const core::DeviceUuid& device) {
        const auto use = process.uses.find(device);
        return use != process.uses.end() && use->second ? use->second->count : 0;
    }
    std::uint64_t sum(const Counts& counts) const {
        std::uint64_t total = 0;
        for (const ModelProcess& process : processes)
            total += counts(process);
        return total;
    }

    // The amounts of each process, for the rules about sums.
    Counts inEnvironment(const std::string& id, const core::DeviceUuid& device) const {
        return [=](const ModelProcess& p) { return p.environment == id ? known(p, device) : 0; };
    }
    Counts ofUser(core::Uid user) const {
        return [=](const ModelProcess& p) -> std::uint64_t { return p.user == user ? 1 : 0; };
    }
    Counts onDevice(core::Uid user, const core::DeviceUuid& device) const {
        return [=, this](const ModelProcess& p) {
            return p.user == user && !isSpared(p, device) ? known(p, device) : 0;
        };
    }
    Counts onAll(core::Uid user) const {
        return [=, this](const ModelProcess& p) {
            std::uint64_t total = 0;
            for (const auto& [device, memory] : p.uses)
                total += onDevice(user, device)(p);
            return total;
        };
    }
    static std::uint64_t orUnlimited(const std::optional<core::Bytes>& limit) {
        return limit ? limit->count : unlimited;
    }
    std::vector<const ModelEnvironment*> counted(core::Uid user) const {
        std::vector<const ModelEnvironment*> result;
        for (const ModelEnvironment& environment : environments) {
            if (environment.owner == user && !environment.exempt)
                result.push_back(&environment);
        }
        return result;
    }
    std::set<core::DeviceUuid> devicesOf(core::Uid user) const {
        std::set<core::DeviceUuid> devices;
        for (const ModelEnvironment& environment : environments) {
            for (const auto& [device, hold] : environment.holds) {
                if (environment.owner == user && !hold.exempt)
                    devices.insert(device);
            }
        }
        return devices;
    }

    void expectSound(const ModelEnvironment& environment) const {
        SCOPED_TRACE(environment.id);
        const core::Limits limits = limitsOf(environment.owner);
        if (limits.maxLifetime && !environment.exempt) {
            EXPECT_LE(environment.age.count(), limits.maxLifetime->count());
        }
        EXPECT_LE(countedDevices(environment),
                  limits.maxDevicesPerEnvironment.value_or(UINT32_MAX));
        for (const auto& [device, hold] : environment.holds) {
            if (limits.idleTimeout && !hold.exempt) {
                EXPECT_LE(hold.idle.count(), limits.idleTimeout->count());
            }
            if (rules.switches.envMemory && hold.share) {
                EXPECT_LE(sum(inEnvironment(environment.id, device)), hold.share->count);
            }
        }
    }
    void expectSound(core::Uid user) const {
        SCOPED_TRACE(user);
        const core::Limits limits = limitsOf(user);
        EXPECT_LE(counted(user).size(), limits.maxEnvironments.value_or(UINT32_MAX));
        EXPECT_LE(devicesOf(user).size(), limits.maxDevices.value_or(UINT32_MAX));
        EXPECT_LE(sum(ofUser(user)), limits.maxProcesses.value_or(UINT32_MAX));
        EXPECT_LE(sum(onAll(user)), orUnlimited(limits.maxGpuMemory));
        for (const ModelProcess& process : processes) {
            for (const auto& [device, memory] : process.uses)
                EXPECT_LE(sum(onDevice(user, device)), orUnlimited(limits.maxGpuMemoryPerDevice));
        }
    }

    static std::set<core::Pid> endedBy(const core::Finding& finding) {
        std::set<core::Pid> pids;
        for (const core::Ending& ending : finding.consequences.endings)
            EXPECT_TRUE(pids.insert(ending.process.identity.pid).second) << "ended twice";
        return pids;
    }

    void judgeOne(const core::Finding& finding,
                  const std::function<bool(const ModelProcess&)>& offends) const {
        EXPECT_TRUE(finding.consequences.detachments.empty() && finding.consequences.ended.empty());
        EXPECT_EQ(finding.consequences.endings.size(), 1U);
        const std::set<core::Pid> ended = endedBy(finding);
        EXPECT_EQ(std::count_if(
                      processes.begin(), processes.end(),
                      [&](const ModelProcess& p) { return ended.contains(p.pid) && offends(p); }),
                  1);
    }

    // A detachment ends exactly the environment's processes on the device.
    void judgeDetachments(const core::Finding& finding) const {
        std::set<core::Pid> expected;
        for (const core::Detachment& detachment : finding.consequences.detachments) {
            const ModelEnvironment* environment = find(detachment.environment);
            ASSERT_NE(environment, nullptr);
            EXPECT_EQ(environment->owner, finding.user);
            EXPECT_TRUE(environment->holds.contains(detachment.device));
            for (const ModelProcess& process : processes) {
                if (process.environment == environment->id &&
                    process.uses.contains(detachment.device))
                    expected.insert(process.pid);
            }
        }
        EXPECT_EQ(endedBy(finding), expected);
    }
    // Environments end with all their attachments, and nothing else is detached.
    void judgeEnded(const core::Finding& finding) const {
        std::set<std::string> ended(finding.consequences.ended.begin(),
                                    finding.consequences.ended.end());
        std::size_t attachments = 0;
        for (const std::string& id : ended) {
            ASSERT_NE(find(id), nullptr);
            EXPECT_EQ(find(id)->owner, finding.user);
            EXPECT_FALSE(find(id)->exempt);
            attachments += find(id)->holds.size();
        }
        EXPECT_EQ(finding.consequences.detachments.size(), attachments);
        for (const core::Detachment& detachment : finding.consequences.detachments)
            EXPECT_TRUE(ended.contains(detachment.environment));
        judgeDetachments(finding);
    }
    void judgeLifetime(const core::Finding& finding) const {
        ASSERT_EQ(finding.consequences.ended.size(), 1U);
        judgeEnded(finding);
        EXPECT_GT(find(finding.consequences.ended[0])->age.count(),
                  limitsOf(finding.user).maxLifetime->count());
    }
    void judgeEnvironments(const core::Finding& finding) const {
        const auto all = counted(finding.user);
        ASSERT_GT(all.size(), limitsOf(finding.user).maxEnvironments.value());
        EXPECT_EQ(all.size() - finding.consequences.ended.size(),
                  limitsOf(finding.user).maxEnvironments.value());
        judgeEnded(finding);
        const std::set<std::string> ended(finding.consequences.ended.begin(),
                                          finding.consequences.ended.end());
        for (const ModelEnvironment* kept : all) {
            for (const std::string& id : ended)
                EXPECT_TRUE(ended.contains(kept->id) || kept->order < find(id)->order);
        }
    }
    static std::size_t countedDevices(const ModelEnvironment& environment) {
        return static_cast<std::size_t>(
            std::count_if(environment.holds.begin(), environment.holds.end(),
                          [](const auto& hold) { return !hold.second.exempt; }));
    }
    void judgeDevicesOfEnvironment(const core::Finding& finding) const {
        EXPECT_TRUE(finding.consequences.ended.empty());
        const ModelEnvironment& environment = *find(finding.environment.value());
        const std::size_t allowed = limitsOf(finding.user).maxDevicesPerEnvironment.value();
        const std::size_t all = countedDevices(environment);
        ASSERT_GT(all, allowed);
        EXPECT_EQ(all - finding.consequences.detachments.size(), allowed);
        for (const core::Detachment& detachment : finding.consequences.detachments) {
            EXPECT_EQ(detachment.environment, environment.id);
            EXPECT_FALSE(environment.holds.at(detachment.device).exempt);
        }
        judgeDetachments(finding);
    }
    void judgeDevices(const core::Finding& finding) const {
        EXPECT_TRUE(finding.consequences.ended.empty());
        const auto all = devicesOf(finding.user);
        ASSERT_GT(all.size(), limitsOf(finding.user).maxDevices.value());
        std::set<core::DeviceUuid> taken;
        for (const core::Detachment& detachment : finding.consequences.detachments) {
            taken.insert(detachment.device);
            EXPECT_FALSE(find(detachment.environment)->holds.at(detachment.device).exempt);
        }
        EXPECT_EQ(all.size() - taken.size(), limitsOf(finding.user).maxDevices.value());
        judgeDetachments(finding);
    }
    void judgeIdle(const core::Finding& finding) const {
        EXPECT_TRUE(finding.consequences.ended.empty());
        ASSERT_EQ(finding.consequences.detachments.size(), 1U);
        judgeDetachments(finding);
        const auto& hold = find(finding.consequences.detachments[0].environment)
                               ->holds.at(finding.consequences.detachments[0].device);
        EXPECT_FALSE(hold.exempt);
        EXPECT_GT(hold.idle.count(), limitsOf(finding.user).idleTimeout->count());
    }

    // The last word of a subject is the device if the rule is about one.
    void judgeChoice(const core::Finding& finding) const {
        EXPECT_TRUE(finding.consequences.detachments.empty() && finding.consequences.ended.empty());
        const core::DeviceUuid device = finding.subject.substr(finding.subject.rfind(' ') + 1);
        const core::Limits limits = limitsOf(finding.user);
        if (finding.rule == core::Rule::EnvMemory)
            judgeSum(finding, inEnvironment(finding.environment.value(), device),
                     find(*finding.environment)->holds.at(device).share->count);
        else if (finding.rule == core::Rule::MaxProcessesPerUser)
            judgeSum(finding, ofUser(finding.user), limits.maxProcesses.value());
        else if (finding.rule == core::Rule::MaxGpuMemoryPerDevice)
            judgeSum(finding, onDevice(finding.user, device),
                     limits.maxGpuMemoryPerDevice.value().count);
        else
            judgeSum(finding, onAll(finding.user), limits.maxGpuMemory.value().count);
    }
    void judgeSum(const core::Finding& finding, const Counts& counts, std::uint64_t limit) const {
        const std::uint64_t before = sum(counts);
        ASSERT_GT(before, limit) << "it was no violation";
        const std::set<core::Pid> ended = endedBy(finding);
        std::vector<std::uint64_t> sizes;
        std::uint64_t after = before;
        for (const ModelProcess& process : processes) {
            sizes.push_back(counts(process));
            if (ended.contains(process.pid))
                after -= counts(process);
        }
        EXPECT_LE(after, limit);
        for (const ModelProcess& process : processes) {
            if (ended.contains(process.pid)) {
                EXPECT_GT(after + counts(process), limit) << process.pid << " ends for nothing";
            }
        }
        std::sort(sizes.rbegin(), sizes.rend());
        std::size_t fewest = 0;
        for (std::uint64_t rest = before; rest > limit; ++fewest)
            rest -= sizes.at(fewest);
        EXPECT_EQ(ended.size(), fewest);
    }

    void carryOut(const core::Finding& finding) {
        const std::set<core::Pid> ended = endedBy(finding);
        EXPECT_EQ(
            std::erase_if(processes, [&](const ModelProcess& p) { return ended.contains(p.pid); }),
            ended.size())
            << "somebody ends who had ended, or never ran";
        for (ModelEnvironment& environment : environments) {
            for (const core::Detachment& detachment : finding.consequences.detachments) {
                if (environment.id == detachment.environment)
                    environment.holds.erase(detachment.device);
            }
        }
        const std::set<std::string> gone(finding.consequences.ended.begin(),
                                         finding.consequences.ended.end());
        std::erase_if(environments, [&](const ModelEnvironment& e) { return gone.contains(e.id); });
        for (ModelProcess& process : processes) {
            if (gone.contains(process.environment))
                process.environment.clear();
        }
    }
};

} // namespace genv::tests
