// SPDX-License-Identifier: LGPL-2.1-or-later
// Waiting requests come, go and are killed at random: no request is overtaken or forgotten.
#include "tests/core/queue_fixture.hpp"
#include "tests/core/seeds.hpp"

#include <random>

namespace genv::tests {
namespace {

using core::AttachRequest;
using core::CountWanted;
using core::IndicesWanted;

// Twenty waiting requests for four devices: killed, canceled, granted and ended at random. After
// each turn, no earlier request could be served with the free devices, and no request was
// overtaken.
class RandomWaiters : public Queueing, public ::testing::WithParamInterface<unsigned> {
  protected:
    static constexpr std::uint32_t devices = 4;
    static constexpr unsigned waiters = 20;

    RandomWaiters() {
        events.subscribe([this](const core::Event& event) {
            if (const auto* attached = std::get_if<core::Attached>(&event))
                expectNobodyWasPassed(*attached);
        });
    }

    // Judges by the numbers alone: an earlier request that still waits must have been unable to use
    // the granted devices, unless it can still use them.
    void expectNobodyWasPassed(const core::Attached& attached) {
        const auto known = asked.find(attached.environment);
        const bool waited = known != asked.end() && known->second;
        const core::TableDevice& device =
            *ledger.devices().findUuid(attached.attachment.device.uuid);
        const auto fits = [](const std::optional<core::Bytes>& share, std::size_t holding,
                             core::Bytes remaining) {
            return share ? *share <= remaining : holding == 0;
        };
        const core::Bytes after = device.availableMemory();
        const core::Bytes before =
            after + attached.attachment.share.value_or(device.facts.totalMemory);
        for (const auto& [ticket, id] : ledger.waits()) {
            if (waited && ticket > *known->second)
                break;
            const core::Wait& wait = ledger.wait(ticket);
            const auto* named = std::get_if<IndicesWanted>(&wait.request.wanted);
            const bool wants = named == nullptr || named->indices.front() == device.facts.index;
            if (!wants || ledger.get(id).attachmentTo(device.facts.uuid) != nullptr)
                continue;
            EXPECT_FALSE(fits(wait.request.share, device.holders.size() - 1, before) &&
                         !fits(wait.request.share, device.holders.size(), after))
                << "environment " << id << " was passed by " << attached.environment;
        }
    }

    unsigned below(unsigned limit) {
        return std::uniform_int_distribution<unsigned>(0, limit - 1)(random);
    }

    AttachRequest anyRequest() {
        const bool shares = below(4) == 0;
        const std::optional<core::Bytes> share =
            shares ? std::optional(gigabytes(1 + below(16))) : std::nullopt;
        if (below(4) == 0)
            return {IndicesWanted{{below(devices)}}, {}, share, false};
        return {CountWanted{1 + below(devices)}, {}, share, false};
    }

    void begin(const std::string& id) {
        activate(id, alice + below(3));
        const auto request = anyRequest();
        asked[id] = ask(id, request);
        if (!asked[id])
            holders.insert(id);
    }

    // Searches for the first request that could be served with devices that no earlier request can
    // use, independently of the queue.
    void expectNobodyIsServable() {
        core::KeptDevices kept(ledger, clock.bootNow(), times.keepFor);
        for (const auto& [ticket, id] : ledger.waits()) {
            const core::Wait& wait = ledger.wait(ticket);
            const core::EnvironmentRecord& environment = ledger.get(id);
            EXPECT_THROW(core::place(wait.request, ledger.devices(), &environment,
                                     kept.reservations(),
                                     core::leaseEnd(&environment, wait.lifetime, clock.bootNow())),
                         core::Error)
                << id << " waits for what is free";
            kept.keep(environment, wait, std::nullopt);
        }
    }

    std::mt19937 random{GetParam()};
    std::map<std::string, std::optional<core::Queue::Ticket>> asked;
    std::set<std::string> holders;
};

TEST_P(RandomWaiters, AreServedInOrderAndNoneIsLost) {
    haveGpus(devices);
    unsigned next = 100;
    for (unsigned i = 0; i < waiters; ++i)
        begin(std::to_string(next++));
    scheduler.turn();
    for (int step = 0; step < 200; ++step) {
        std::vector<std::string> ids;
        for (const auto& [sequence, environment] : ledger.environments())
            ids.push_back(environment.id);
        const std::string id = ids[below(static_cast<unsigned>(ids.size()))];
        const auto waitsBefore = ledger.waits();
        switch (below(3)) {
        case 0: // killed
            processes.exit(static_cast<core::Pid>(std::stoul(id)));
            break;
        case 1: // interrupted, if it waits
            if (asked[id] && ledger.waits().contains(*asked[id]))
                queue.cancel(*asked[id]);
            break;
        default: // finished with its devices
            ledger.detach(id, {}, ledger.get(id).uid);
        }
        scheduler.turn();
        expectNothingTwice(ledger);
        expectNobodyIsServable();
        while (ledger.environments().size() < waiters)
            begin(std::to_string(next++));
        scheduler.turn();
    }
    // In the end every request is served: none is stuck.
    for (int i = 0; i < 1000 && !ledger.waits().empty(); ++i) {
        for (const auto& environment : std::map(ledger.environments())) {
            if (!environment.second.attachments.empty())
                ledger.detach(environment.second.id, {}, environment.second.uid);
        }
        scheduler.turn();
    }
    EXPECT_TRUE(ledger.waits().empty());
    for (const auto& [id, ticket] : asked) {
        if (ticket && ledger.find(id) != nullptr && answers.contains(id)) {
            EXPECT_EQ(answers[id].size(), 1U) << "each is told once";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomWaiters, seedsTo(10));

} // namespace
} // namespace genv::tests
