// SPDX-License-Identifier: LGPL-2.1-or-later
// The reply of DescribeQueue.
#include "dbus/manager/queue_descriptions.hpp"
#include "tests/dbus/context_fixture.hpp"

namespace genv::tests {
namespace {

class QueueDescriptions : public ContextTest {
  protected:
    void start(const std::string& id, core::Uid uid, const std::string& name) {
        const auto pid = static_cast<core::Pid>(std::stoul(id));
        processes.add(pid, uid);
        core::NewEnvironment wanted{
            id, uid, "user" + id, {}, {core::adopt(processes.pin(pid), uid, uid)}, {}};
        wanted.configuration.name = name;
        ledger.activate(std::move(wanted), std::nullopt, uid);
    }
};

TEST_F(QueueDescriptions, TellFromWhomARequestTakesItsDevices) {
    core::Observation seen = gpus(2);
    seen.devices[0].reading.usedMemory = gigabytes(6);
    ledger.observed(seen);
    start("10", alice, "training");
    ledger.attach("10", queue.place({core::IndicesWanted{{0}}, {}, {}, false}, &ledger.get("10")),
                  alice);
    start("20", bob, "");
    ledger.attach("20", core::PlannedWait{{core::CountWanted{2}, {}, {}, false}, {}}, bob);
    core::PendingTaking taking;
    taking.victims = {"10", "ended"};
    taking.devices = {"GPU-0", "GPU-1"};
    taking.estimate = std::chrono::milliseconds{1500};
    ledger.take(ledger.get("20").waits.back().ticket, taking, {});

    const auto rows = dbus::queueDescriptions(queue, ledger, context.sharing.lending, clock,
                                              core::QueueOrder::Fifo);
    ASSERT_EQ(rows.size(), 1U);
    using Victim = sdbus::Struct<std::string, std::string, std::string, uint64_t, uint64_t>;
    EXPECT_EQ(rows[0].at("taking").get<std::vector<Victim>>(),
              (std::vector<Victim>{{"10", "training", "user10", gigabytes(6).count, 1'500'000U}}));
    EXPECT_EQ(rows[0].at("taking-devices").get<std::vector<std::uint32_t>>(),
              (std::vector<std::uint32_t>{0, 1}));
}

} // namespace
} // namespace genv::tests
