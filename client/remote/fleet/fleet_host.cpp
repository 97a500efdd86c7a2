// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/remote/fleet/fleet_host.hpp"

#include "client/remote/fleet/old_genv.hpp"
#include "core/base/text.hpp"
#include "core/rules/action.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace genv::remote {

namespace {

/// The answers of a service: a consistent snapshot, and further data that the snapshot does not
/// contain.
struct Answer {
    std::string snapshot;
    std::vector<Attachment> attachments;
    std::vector<ComputeProcess> processes;
};

Answer ask(Client& client) {
    Answer answer;
    answer.snapshot = client.snapshot();
    answer.attachments = client.attachments();
    answer.processes = client.processes();
    return answer;
}

Snapshot parsed(std::string_view text) {
    try {
        return parseSnapshot(text);
    } catch (const InvalidSnapshot& error) {
        throw HostFailure(Trouble::Failed, error.what());
    }
}

// Adds the further data to the snapshot. Objects that have changed since the snapshot was taken
// stay unchanged.
void complete(Snapshot& snapshot, const Answer& answer) {
    std::map<std::pair<std::uint32_t, std::string>, Time> times;
    for (const Attachment& attachment : answer.attachments)
        times[{attachment.device, attachment.environment}] = attachment.since;
    for (Snapshot::Device& device : snapshot.devices) {
        for (Snapshot::Attachment& attachment : device.attachments) {
            const auto time = times.find({device.index, attachment.environment});
            if (time != times.end())
                attachment.since = time->second;
        }
    }
    std::map<std::uint32_t, std::uint32_t> uids;
    for (const ComputeProcess& process : answer.processes) {
        if (!process.environment)
            uids[process.pid] = process.uid;
    }
    for (Snapshot::Process& process : snapshot.processes) {
        const auto uid = uids.find(process.pid);
        if (!process.environment && uid != uids.end())
            process.uid = uid->second;
    }
}

// Reads genv 1 on the host, with the access rights of the login there.
FleetHost readOldHost(const Host& host, const SshBounds& bounds) {
    // The failure path reads this value; the analyzer does not follow it.
    // NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores)
    const auto began = std::chrono::steady_clock::now();
    FleetHost read{Genv::Old, parsed(readOldSnapshot(host, bounds))};
    const auto isOutside = [](const Snapshot::Process& process) { return !process.environment; };
    auto& processes = read.snapshot.processes;
    if (std::any_of(processes.begin(), processes.end(), isOutside) &&
        !isRootThere(host, remainingBounds(bounds, began)))
        read.unknownProcesses = std::erase_if(processes, isOutside);
    return read;
}

bool isComplaint(std::string_view line) {
    constexpr std::array<std::string_view, 3> marks{"[ERROR]", "[WARNING]", "[DEBUG]"};
    return std::any_of(marks.begin(), marks.end(),
                       [&](std::string_view mark) { return line.starts_with(mark); });
}

// Returns the PID in "... process 7 ...".
std::optional<std::uint32_t> pidIn(std::string_view line) {
    constexpr std::string_view word = "rocess ";
    const std::size_t at = line.find(word);
    if (at == std::string_view::npos)
        return std::nullopt;
    const std::string_view rest = line.substr(at + word.size());
    std::uint32_t pid = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), pid);
    return error == std::errc{} ? std::optional(pid) : std::nullopt;
}

std::vector<std::string> oldCommand(bool terminate) {
    std::vector<std::string> words{"genv", "usage", "execute"};
    if (!terminate)
        words.insert(words.begin(), {"env", "GENV_TERMINATE_PROCESSES=0"});
    return words;
}

} // namespace

FleetHost readFleetHost(const Host& host, const SshBounds& bounds) {
    // The failure path reads this value; the analyzer does not follow it.
    // NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores)
    const auto began = std::chrono::steady_clock::now();
    try {
        Session session(host, bounds);
        const Answer answer = session.use(ask);
        FleetHost read{Genv::Service, parsed(answer.snapshot)};
        complete(read.snapshot, answer);
        return read;
    } catch (const HostFailure& failure) {
        if (failure.trouble() != Trouble::NoService)
            throw;
    }
    return readOldHost(host, remainingBounds(bounds, began));
}

std::vector<EnforcementAction> outcomeOf(const HostOrders& orders, std::string_view printed) {
    std::vector<EnforcementAction> actions = orders.actions;
    std::vector<EnforcementAction> failed;
    constexpr std::size_t maxLineLength = 300;
    while (!printed.empty()) {
        const std::size_t end = std::min(printed.find('\n'), printed.size());
        const std::string_view line = printed.substr(0, end);
        printed.remove_prefix(std::min(end + 1, printed.size()));
        if (!isComplaint(line))
            continue; // a report of success, which repeats the order
        EnforcementAction action;
        action.kind = nameOf(core::EnforcementEntry::Kind::Failed);
        action.message = core::printable(line.substr(0, maxLineLength));
        action.pid = pidIn(line);
        std::erase_if(actions, [&](const EnforcementAction& ordered) {
            return action.pid && ordered.pid == action.pid;
        });
        if (failed.size() < orders.actions.size() + 1) // further complaints are not plausible
            failed.push_back(std::move(action));
    }
    actions.insert(actions.end(), failed.begin(), failed.end());
    return actions;
}

std::vector<EnforcementAction> carryOut(const Host& host, Genv genv, const HostOrders& orders,
                                        bool terminate, const SshBounds& bounds) {
    if (genv == Genv::Service) {
        try {
            Session session(host, bounds);
            return session.use([&](Client& client) { return client.execute(orders.report); });
        } catch (const HostFailure& failure) {
            if (failure.trouble() != Trouble::NotAuthorized)
                throw;
            throw HostFailure(
                Trouble::NotAuthorized, failure.what(),
                "Use \"-l root\", or allow dev.genv.manager.enforce there with a polkit rule.");
        }
    }
    const FarOutput output = runThere(host, oldCommand(terminate), orders.report, bounds);
    if (output.status != 0)
        throw commandFailed("genv usage execute", output);
    return outcomeOf(orders, output.text + '\n' + output.errorText);
}

} // namespace genv::remote
