// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of an environment.
#include "dbus/environment/environment_view.hpp"
#include "tests/dbus/context_fixture.hpp"

namespace genv::tests {
namespace {

class EnvironmentProperties : public ContextTest {
  protected:
    using Devices = std::vector<sdbus::Struct<std::uint32_t, std::uint64_t>>;

    // Starts environment 10 and parks it with a process of 8 GB on GPU 0.
    void parkOnGpu0() {
        processes.add(10, alice);
        ledger.activate(
            {"10", alice, "alice", {}, {core::adopt(processes.pin(10), alice, alice)}, {}},
            std::nullopt, alice);
        const core::AttachRequest request{core::IndicesWanted{{0}}, {}, {}, false};
        ledger.attach("10", queue.place(request, &ledger.get("10")), alice);
        ledger.beginParking("10", {{{500, 7}, "python3", {}, {{"GPU-0", gigabytes(8)}}}}, alice);
        ledger.concludeParking("10");
    }
    [[nodiscard]] Devices parkedDevices() const {
        return dbus::EnvironmentView(context, ledger.get("10")).ParkedDevices();
    }
};

TEST_F(EnvironmentProperties, NameAParkedDeviceByItsPresentIndexOrTheLastOne) {
    ledger.observed(gpus(2));
    parkOnGpu0();
    core::Observation moved = gpus(2);
    moved.devices[0].facts.index = 1;
    moved.devices[1].facts.index = 0;
    ledger.observed(moved);
    EXPECT_EQ(parkedDevices(), (Devices{{1U, gigabytes(8).count}}));
    moved.devices.erase(moved.devices.begin());
    ledger.observed(moved);
    EXPECT_EQ(parkedDevices(), (Devices{{0U, gigabytes(8).count}}))
        << "the index at which it was parked";
}

} // namespace
} // namespace genv::tests
