// SPDX-License-Identifier: LGPL-2.1-or-later
// A ledger on stand-ins, with helpers for the common steps of tests.
#pragma once

#include "core/environments/root_process.hpp"
#include "tests/core/fakes.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::tests {

/// Expects that no device has two holders unless over-subscription was requested.
inline void expectNothingTwice(const core::LedgerView& ledger) {
    for (const auto& [index, device] : ledger.devices().byIndex()) {
        core::Bytes given;
        for (const core::Holder& holder : device.holders) {
            const core::Bytes share = holder.attachment.share.value_or(device.facts.totalMemory);
            if (!holder.attachment.overSubscribed) {
                EXPECT_LE(given.count + share.count, device.facts.totalMemory.count)
                    << "device " << index;
            }
            given = given + share;
        }
    }
}

class LedgerTest : public ::testing::Test {
  protected:
    LedgerTest() {
        processes.onExit(
            [this](const core::ProcessIdentity& process) { ledger.processExited(process); });
        events.subscribe([this](const core::Event& event) { emitted.push_back(event); });
    }

    void haveGpus(core::DeviceIndex count) { ledger.observed(gpus(count)); }

    core::NewEnvironment newEnvironment(const std::string& id, core::Uid uid, core::Pid pid,
                                        core::EnvironmentConfiguration configuration = {}) {
        processes.add(pid, uid);
        return {id,
                uid,
                "user" + std::to_string(uid),
                std::move(configuration),
                {core::adopt(processes.pin(pid), uid, uid)},
                {}};
    }

    /// Activates an environment with a process whose PID is the id.
    void activate(const std::string& id, core::Uid uid,
                  core::EnvironmentConfiguration configuration = {}) {
        const auto pid = static_cast<core::Pid>(std::stoul(id));
        ledger.activate(newEnvironment(id, uid, pid, std::move(configuration)), std::nullopt, uid);
    }

    core::Placement planned(const std::string& id, const core::AttachRequest& request) {
        const core::EnvironmentRecord& environment = ledger.get(id);
        return core::place(request, ledger.poolOf(environment).devices(), &environment);
    }
    void attach(const std::string& id, const core::AttachRequest& request) {
        ledger.attach(id, planned(id, request), ledger.get(id).uid);
    }
    void attachCount(const std::string& id, std::uint32_t count,
                     std::optional<core::Bytes> share = std::nullopt, bool overSubscribe = false) {
        attach(id, {core::CountWanted{count}, std::nullopt, share, overSubscribe});
    }
    void attachIndices(const std::string& id, std::vector<core::DeviceIndex> indices,
                       bool overSubscribe = false) {
        attach(id, {core::IndicesWanted{std::move(indices)}, std::nullopt, std::nullopt,
                    overSubscribe});
    }

    std::vector<core::DeviceIndex> devicesOf(const std::string& id) {
        return ledger.get(id).deviceIndices();
    }

    template <typename Kind>
    std::vector<Kind> emittedOf() const {
        std::vector<Kind> result;
        for (const core::Event& event : emitted) {
            if (const auto* specific = std::get_if<Kind>(&event))
                result.push_back(*specific);
        }
        return result;
    }

    /// No device has two holders unless over-subscription was requested.
    FakeClock clock;
    FakeStore store;
    FakeProcesses processes;
    core::EventHub events;
    core::Ledger ledger{store, clock, events};
    std::vector<core::Event> emitted;
};

} // namespace genv::tests
