// SPDX-License-Identifier: LGPL-2.1-or-later
// The state documents, one a line, as a service finds them at its start. Whatever they contain, the
// service starts, grants no device twice, and keeps every environment that still has a process.
#include "core/ledger/recovery.hpp"
#include "core/placement/placement.hpp"
#include "core/state/state_schema.hpp"
#include "tests/core/fakes.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <set>

namespace genv::fuzz::state {

constexpr core::Pid firstPid = 2;
constexpr core::Pid lastPid = 40;

struct World {
    tests::FakeClock clock;
    tests::FakeStore store;
    tests::FakeProcesses processes;
    core::EventHub events;
    core::Ledger ledger{store, clock, events};

    explicit World(std::map<std::string, std::string> documents) {
        store.documents = std::move(documents);
        processes.onExit(
            [this](const core::ProcessIdentity& process) { ledger.processExited(process); });
        for (core::Pid pid = firstPid; pid <= lastPid; ++pid)
            processes.add(pid, tests::alice);
        core::recover(ledger, store, processes, clock.boot);
    }
};

// A document that was read is written unchanged.
std::string nameOf(std::string_view document, std::size_t number) {
    try {
        const core::EnvironmentRecord environment = core::decodeState(document);
        expect(core::decodeState(core::encodeState(environment)) == environment,
               "a state document that was read is written as it was");
        return environment.id;
    } catch (const core::StateError& error) {
        expectShowable(error.what(), "why a state document is refused can be shown");
        return "broken-" + std::to_string(number);
    }
}

std::vector<core::DeviceAttachment> attachmentsTo(const core::LedgerView& ledger,
                                                  const std::string& device) {
    std::vector<core::DeviceAttachment> all;
    for (const auto& [sequence, environment] : ledger.environments())
        std::ranges::copy_if(environment.attachments, std::back_inserter(all),
                             [&](const auto& each) { return each.device.uuid == device; });
    std::ranges::stable_sort(all, {}, &core::DeviceAttachment::sequence);
    return all;
}

void expectGivenOnce(const core::LedgerView& ledger, const std::string& device) {
    bool isWhollyGiven = false;
    std::size_t given = 0;
    core::Bytes shared;
    for (const core::DeviceAttachment& each : attachmentsTo(ledger, device)) {
        if (!each.overSubscribed) {
            expect(each.share || given == 0, "a device that somebody has is given to nobody whole");
            expect(!isWhollyGiven, "a device that is given whole is shared with nobody");
            expect(shared + each.share.value_or(core::Bytes{0}) <= each.device.totalMemory ||
                       !each.share,
                   "no more of a device is given than there is");
        }
        isWhollyGiven = isWhollyGiven || !each.share;
        shared = std::min(shared + each.share.value_or(core::Bytes{0}), each.device.totalMemory);
        ++given;
    }
}

void expectSound(const core::LedgerView& ledger) {
    std::set<std::string> devices;
    std::set<std::string> ids;
    std::set<core::ProcessIdentity> roots;
    std::set<std::uint64_t> tickets;
    for (const auto& [sequence, environment] : ledger.environments()) {
        expect(sequence == environment.sequence, "an environment is found by its number");
        expect(ids.insert(environment.id).second, "an id is one environment's");
        expect(ledger.find(environment.id) == &environment, "an environment is found by its id");
        expect(environment.isAlive(), "an environment has a process");
        std::set<std::string> own;
        for (const core::DeviceAttachment& attachment : environment.attachments) {
            expect(own.insert(attachment.device.uuid).second, "nobody has a device twice");
            devices.insert(attachment.device.uuid);
        }
        for (const core::RootProcess& process : environment.processes)
            expect(ledger.environmentOfRoot(process.identity) == &environment,
                   "a process belongs to the environment that it keeps alive");
        for (const core::Wait& wait : environment.waits) {
            expect(tickets.insert(wait.ticket).second, "a ticket is one wait's");
            expect(ledger.waits().at(wait.ticket) == environment.id, "a wait is found");
        }
    }
    expect(ledger.waits().size() == tickets.size(), "whoever waits is an environment");
    for (const std::string& device : devices)
        expectGivenOnce(ledger, device);
}

std::vector<std::string> written(const core::LedgerView& ledger) {
    std::vector<std::string> all;
    for (const auto& [sequence, environment] : ledger.environments())
        all.push_back(core::encodeState(environment));
    return all;
}

// Every environment requests one device more.
void attachAll(core::Ledger& ledger) {
    std::vector<core::EnvironmentId> ids;
    for (const auto& [sequence, environment] : ledger.environments())
        ids.push_back(environment.id);
    for (const core::EnvironmentId& id : ids) {
        try {
            const auto held = static_cast<std::uint32_t>(ledger.get(id).attachments.size());
            ledger.attach(id,
                          core::place({core::CountWanted{held + 1}, std::nullopt,
                                       ledger.get(id).configuration.gpuMemory, false},
                                      ledger.devices(), ledger.find(id)),
                          tests::alice);
        } catch (const core::Error& error) {
            expectShowable(error.what(), "why nothing is attached can be shown");
        }
    }
}

GENV_FUZZ_TARGET(state) {
    std::map<std::string, std::string> documents;
    for (const std::string_view line : linesIn(input))
        documents[nameOf(line, documents.size())] = line;

    World world(std::move(documents));
    core::Ledger& ledger = world.ledger;
    expectSound(ledger);
    const std::vector<std::string> before = written(ledger);
    expect(written(World(world.store.documents).ledger) == before, "a restart loses nothing");

    ledger.observed(tests::gpus(4));
    expectSound(ledger);
    attachAll(ledger);
    expectSound(ledger);
    ledger.driverFailed();
    ledger.observed(tests::gpus(2));
    expectSound(ledger);
    for (core::Pid pid = firstPid; pid <= lastPid; ++pid)
        world.processes.exit(pid);
    expect(ledger.environments().empty(), "without its processes an environment is over");
    expect(ledger.waits().empty() && ledger.locks().empty(), "who is gone holds nothing");
    expect(world.store.documents.empty(), "what is over is written nowhere");
}

} // namespace genv::fuzz::state
