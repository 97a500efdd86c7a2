// SPDX-License-Identifier: LGPL-2.1-or-later
// Shells and workers come and go at random. No device is free for others while a worker of its
// environment uses it, and every device is free in the end.
#include "tests/core/lingering_fixture.hpp"
#include "tests/core/seeds.hpp"

#include <random>

namespace genv::tests {
namespace {

class RandomLingering : public LingeringTest, public ::testing::WithParamInterface<unsigned> {
  protected:
    static constexpr core::DeviceIndex devices = 4;

    unsigned below(unsigned limit) {
        return std::uniform_int_distribution<unsigned>(0, limit - 1)(random);
    }

    // Returns the sample that the driver would report now.
    core::Observation now() { return sampleOf(devices, {workers.begin(), workers.end()}); }

    void start() {
        const core::Pid pid = nextPid++;
        const core::Uid uid = alice + below(2);
        const std::string id = std::to_string(pid);
        activate(id, uid);
        if (ask(id, {core::CountWanted{1 + below(2)}, {}, {}, false}))
            return;
        shells.push_back(pid);
    }

    // Adds a worker of an environment's shell. It claims its environment, descends from the shell,
    // or is a child of a lingering worker.
    void work() {
        if (ledger.environments().empty())
            return;
        auto chosen = ledger.environments().begin();
        std::advance(chosen, below(static_cast<unsigned>(ledger.environments().size())));
        const core::EnvironmentRecord& environment = chosen->second;
        if (environment.attachments.empty() || environment.processes.empty())
            return;
        const auto& held =
            environment.attachments[below(static_cast<unsigned>(environment.attachments.size()))];
        core::ObservedProcess process =
            worker(nextPid++, environment.uid, {held.device.uuid}, environment.id);
        process.ancestors = {environment.processes.front().identity};
        workers.push_back(process);
        owners[process.facts.identity.pid] = environment.sequence;
    }

    void kill() {
        if (workers.empty())
            return;
        const auto victim = workers.begin() + below(static_cast<unsigned>(workers.size()));
        const core::Pid pid = victim->facts.identity.pid;
        workers.erase(victim);
        owners.erase(pid);
        processes.exit(pid);
    }

    void exitShell() {
        if (shells.empty())
            return;
        const auto shell = shells.begin() + below(static_cast<unsigned>(shells.size()));
        const core::Pid pid = *shell;
        shells.erase(shell);
        processes.exit(pid);
    }

    // Expects that every worker's device is held by its environment, so that nobody else can get
    // it.
    void expectWorkersKeepTheirDevices() {
        for (const core::ObservedProcess& process : workers) {
            const auto found = ledger.environments().find(owners.at(process.facts.identity.pid));
            ASSERT_NE(found, ledger.environments().end())
                << "process " << process.facts.identity.pid << " is left without its environment";
            EXPECT_NE(found->second.attachmentTo(process.uses.front().device), nullptr);
        }
        for (const auto& [index, device] : ledger.devices().byIndex())
            EXPECT_LE(device.holders.size(), 1U) << "device " << index;
    }

    std::mt19937 random{GetParam()};
    core::Pid nextPid = 100;
    std::vector<core::Pid> shells;
    std::vector<core::ObservedProcess> workers;
    std::map<core::Pid, std::uint64_t> owners; ///< of workers: the sequence of their environment
};

TEST_P(RandomLingering, GivesNobodyADeviceThatIsInUseAndFreesItInTheEnd) {
    haveGpus(devices);
    sample(now());
    for (int step = 0; step < 400; ++step) {
        switch (below(6)) {
        case 0:
            start();
            break;
        case 1:
            work();
            break;
        case 2:
            kill();
            break;
        case 3:
            exitShell();
            break;
        case 4:
            scheduler.turn();
            break;
        default:
            sample(now());
            break;
        }
        ASSERT_NO_FATAL_FAILURE(expectWorkersKeepTheirDevices()) << "step " << step;
    }
    while (!workers.empty())
        kill();
    while (!ledger.environments().empty()) {
        sample(now());
        sample(now());
        const core::EnvironmentRecord& environment = ledger.environments().begin()->second;
        if (ledger.environments().empty())
            break;
        for (const core::RootProcess& process : std::vector(environment.processes))
            processes.exit(process.identity.pid);
    }
    for (const auto& [index, device] : ledger.devices().byIndex())
        EXPECT_TRUE(device.isAvailable(std::nullopt)) << "device " << index;
    EXPECT_TRUE(store.documents.empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLingering, seedsTo(20));

} // namespace
} // namespace genv::tests
