// SPDX-License-Identifier: LGPL-2.1-or-later
// Loans on the fixture of parking: preemptible environments, and requests that take their GPUs.
#pragma once

#include "tests/core/parking_fixture.hpp"

namespace genv::tests {

class LoansTest : public ParkingTest {
  protected:
    static constexpr core::Uid carol = 1003;
    static constexpr core::Uid dave = 1004;

    /// Starts an environment without devices, whose id is the PID of its shell.
    void starting(const std::string& id, core::Uid uid,
                  core::Preemptible preemptible = core::Preemptible::No) {
        const auto pid = static_cast<core::Pid>(std::stoul(id));
        processes.add(pid, uid);
        core::NewEnvironment wanted{id, uid, "user" + std::to_string(uid), {}, {}, {}};
        wanted.configuration.preemptible = preemptible;
        wanted.processes.push_back(core::adopt(processes.pin(pid), uid, uid));
        ledger().activate(std::move(wanted), std::nullopt, uid);
    }
    /// Starts a preemptible environment with one process of 8 GB on each of these GPUs. The PIDs
    /// are ten times the id and what follows.
    void lending(const std::string& id, core::Uid uid,
                 const std::vector<core::DeviceIndex>& devices, core::Bytes bytes = gigabytes(8),
                 core::Preemptible preemptible = core::Preemptible::Park) {
        holding(id, uid, devices);
        core::EnvironmentConfigurationChange change;
        change.preemptible = preemptible;
        ledger().configure(id, change, uid);
        core::Pid pid = pidOf(id);
        for (const core::DeviceIndex device : devices)
            computing(pid++, id, device, bytes);
        ledger().observed(sample());
    }
    static core::Pid pidOf(const std::string& id) {
        return static_cast<core::Pid>(std::stoul(id)) * 10;
    }

    /// Asks as a client does, and waits for the answer.
    core::Queue::Ticket ask(const std::string& id, const core::AttachRequest& request,
                            bool takesOnly = false, bool holdForQuota = false) {
        const core::EnvironmentRecord& asking = environment(id);
        core::Plan plan = service->queue.placeOrWait(request, &asking);
        if (auto* wait = std::get_if<core::PlannedWait>(&plan)) {
            wait->takesOnly = takesOnly;
            wait->holdForQuota = holdForQuota;
        }
        ledger().attach(id, plan, asking.uid);
        if (std::holds_alternative<core::Placement>(plan)) {
            answers[id] = "";
            return 0;
        }
        const core::Queue::Ticket ticket = environment(id).waits.back().ticket;
        await(id, ticket);
        return ticket;
    }
    core::Queue::Ticket askCount(const std::string& id, std::uint32_t wanted,
                                 bool takesOnly = false) {
        return ask(id, {core::CountWanted{wanted}, {}, {}, false}, takesOnly);
    }
    void await(const std::string& id, core::Queue::Ticket ticket) {
        const core::Uid uid = environment(id).uid;
        service->queue.await(
            ticket, {uid, "user", {}}, std::nullopt, [this, id](const auto& refusal) {
                answers[id] = refusal ? std::string(refusal->what()) : std::string();
            });
    }
    [[nodiscard]] bool isGranted(const std::string& id) const {
        const auto found = answers.find(id);
        return found != answers.end() && found->second.empty();
    }
    [[nodiscard]] std::string refusalOf(const std::string& id) const {
        const auto found = answers.find(id);
        return found == answers.end() ? "no answer" : found->second;
    }

    [[nodiscard]] bool isParked(const std::string& id) {
        return environment(id).isAt(core::ParkingStep::Parked);
    }
    /// Returns whether an environment computes on its GPUs as before.
    [[nodiscard]] bool goesOn(const std::string& id) {
        const core::EnvironmentRecord& now = environment(id);
        if (now.parking || now.attachments.empty())
            return false;
        core::Pid pid = pidOf(id);
        for (std::size_t i = 0; i < now.attachments.size(); ++i) {
            if (stateOf(pid++) != core::CheckpointState::Running)
                return false;
        }
        return true;
    }
    [[nodiscard]] const std::optional<core::PendingTaking>& takingOf(const std::string& id) {
        static const std::optional<core::PendingTaking> none;
        const auto& waits = environment(id).waits;
        return waits.empty() ? none : waits.front().taking;
    }
    void detach(const std::string& id) {
        ledger().detach(id, {}, environment(id).uid);
        settle();
    }

    std::map<std::string, std::string> answers; ///< to requests; empty: granted
};

} // namespace genv::tests
