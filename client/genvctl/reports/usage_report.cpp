// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/usage_report.hpp"

#include "client/environment_job.hpp"
#include "client/genvctl/reports/holds.hpp"
#include "client/genvctl/reports/parked_times.hpp"
#include "dbus/contract/names.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace genv::ctl {

namespace {

bool isWithin(const Period& period, Time time) {
    return time >= period.since && time < period.until;
}

std::optional<std::chrono::microseconds> waitedFor(const HistoryEvent& event) {
    if (event.waited)
        return event.waited;
    if (event.since && *event.since <= event.time)
        return event.time - *event.since;
    return std::nullopt;
}

void countWait(WaitSums& sums, std::chrono::microseconds waited) {
    ++sums.count;
    sums.total += waited;
    sums.max = std::max(sums.max, waited);
}

// A change in the number of attachments of a device in one state of use.
struct Change {
    Time time;
    Use use;
    int difference;
};

// Adds the time in which at least one attachment held the device, and the time in which at least
// one used it.
void addUnion(Usage& usage, std::vector<Change> changes) {
    std::sort(changes.begin(), changes.end(),
              [](const Change& a, const Change& b) { return a.time < b.time; });
    std::array<int, 3> counts{};
    const auto count = [&](Use use) -> int& { return counts[static_cast<std::size_t>(use)]; };
    for (std::size_t i = 0; i < changes.size(); ++i) {
        count(changes[i].use) += changes[i].difference;
        if (i + 1 == changes.size())
            break;
        const auto span = changes[i + 1].time - changes[i].time;
        if (count(Use::Used) + count(Use::Unknown) + count(Use::Idle) > 0)
            usage.held += span;
        if (count(Use::Used) > 0)
            usage.used += span;
        else if (count(Use::Unknown) > 0)
            usage.unknown += span;
    }
}

class Report {
  public:
    explicit Report(const UsageInput& input) : input_(input) {
        for (const Device& device : input.devices)
            devices_[device.uuid] = {device.uuid, device.index, device.model, {}};
    }

    UsageReport make() {
        Holds holds;
        ParkedTimes parkedTimes;
        for (const HistoryEvent& event : input_.events) {
            holds.add(event);
            parkedTimes.add(event);
            count(event);
        }
        for (const Hold& hold : holds.finish(input_.held, input_.now)) {
            if (!input_.uid || hold.uid == *input_.uid)
                add(hold);
        }
        for (const ParkedTime& time : parkedTimes.finish(input_.parked, input_.now)) {
            if (!input_.uid || time.uid == *input_.uid)
                add(time);
        }
        for (auto& [uuid, changes] : changes_)
            addUnion(device(uuid).usage, std::move(changes));
        return sorted();
    }

  private:
    UserUsage& user(std::uint32_t uid, const std::string& name) {
        UserUsage& row = users_[uid];
        row.uid = uid;
        if (!name.empty())
            row.user = name;
        else if (row.user.empty())
            row.user = std::to_string(uid);
        return row;
    }

    Usage& usageOf(const std::string& job, const std::string& name) {
        JobUsage& row = jobs_[job];
        row.job = job;
        if (!name.empty())
            row.user = name;
        return row.usage;
    }

    DeviceUsage& device(const std::string& uuid) {
        DeviceUsage& row = devices_[uuid];
        row.uuid = uuid;
        return row;
    }

    // Remembers the name of a device that no longer exists.
    void remember(const HistoryEvent& event) {
        for (std::size_t i = 0; i < event.uuids.size(); ++i) {
            const bool isThere =
                std::any_of(input_.devices.begin(), input_.devices.end(),
                            [&](const Device& d) { return d.uuid == event.uuids[i]; });
            if (isThere)
                continue;
            Name& name = names_[event.uuids[i]];
            if (event.devices.size() == event.uuids.size())
                name.index = event.devices[i];
            if (event.model)
                name.model = *event.model;
        }
    }

    void count(const HistoryEvent& event) {
        remember(event);
        if (!isWithin(input_.period, event.time))
            return;
        if (event.kind == "wait-granted" || event.kind == "wait-ended")
            countWaitOf(event);
        else if (event.kind == "refused")
            countRefusal(event);
    }

    void countWaitOf(const HistoryEvent& event) {
        const auto waited = waitedFor(event);
        if (!waited || !event.uid || (input_.uid && event.uid != input_.uid))
            return;
        countWait(user(*event.uid, event.user.value_or("")).usage.waits, *waited);
        for (const std::string& uuid : event.uuids)
            countWait(device(uuid).usage.waits, *waited);
    }

    // Counts a refusal for the user who made the request, not for the owner of the environment. A
    // request that lacked a password is repeated with one, as genvctl does, and the result of the
    // repetition has its own event.
    void countRefusal(const HistoryEvent& event) {
        if (event.error == dbus::contract::error::interactiveAuthorizationRequired)
            return;
        const auto uid = event.caller ? event.caller : event.uid;
        if (!uid || (input_.uid && uid != input_.uid))
            return;
        const auto& name = event.caller ? event.callerUser : event.user;
        ++user(*uid, name.value_or("")).usage.refusals;
        for (const std::string& uuid : event.uuids)
            ++device(uuid).usage.refusals;
    }

    void add(const Hold& hold) {
        const Period& period = input_.period;
        const bool isInPeriod = hold.begin() < period.until &&
                                (hold.end() > period.since || isWithin(period, hold.begin()));
        if (!isInPeriod)
            return;
        std::vector<Usage*> usages;
        if (hold.uid)
            usages.push_back(&user(*hold.uid, hold.user).usage);
        if (const auto job = client::slurmJobOf(hold.environment))
            usages.push_back(&usageOf(*job, hold.user));
        for (Usage* usage : usages)
            ++usage->attachments;
        ++device(hold.uuid).usage.attachments;
        for (const UseSpan& span : hold.spans) {
            const Time begin = std::max(span.begin, period.since);
            const Time end = std::min(span.end, period.until);
            if (begin >= end)
                continue;
            changes_[hold.uuid].push_back({begin, span.use, 1});
            changes_[hold.uuid].push_back({end, span.use, -1});
            for (Usage* usage : usages) {
                usage->held += end - begin;
                if (span.use == Use::Used)
                    usage->used += end - begin;
                else if (span.use == Use::Unknown)
                    usage->unknown += end - begin;
            }
        }
    }

    void add(const ParkedTime& time) {
        const Time begin = std::max(time.begin, input_.period.since);
        const Time end = std::min(time.end, input_.period.until);
        if (begin >= end)
            return;
        const auto count = [&](Usage& usage) {
            usage.parked += end - begin;
            if (time.isTaken)
                usage.taken += end - begin;
        };
        if (time.uid)
            count(user(*time.uid, time.user).usage);
        count(device(time.uuid).usage);
    }

    static bool isConcerned(const Usage& usage) {
        return usage.attachments > 0 || usage.parked.count() > 0 || usage.waits.count > 0 ||
               usage.refusals > 0;
    }

    UsageReport sorted() {
        UsageReport report;
        for (auto& [uid, row] : users_)
            report.users.push_back(std::move(row));
        for (auto& [job, row] : jobs_)
            report.jobs.push_back(std::move(row));
        for (auto& [uuid, row] : devices_) {
            if (input_.uid && !isConcerned(row.usage))
                continue;
            if (const auto name = names_.find(uuid); name != names_.end()) {
                row.index = name->second.index;
                row.model = name->second.model;
            }
            report.devices.push_back(std::move(row));
        }
        const auto holdsMore = [](const auto& a, const auto& b) {
            return a.usage.held > b.usage.held;
        };
        std::ranges::stable_sort(report.users, holdsMore);
        std::ranges::stable_sort(report.jobs, holdsMore);
        // Devices that no longer exist come last.
        const auto rank = [this](const DeviceUsage& row) {
            return std::make_tuple(names_.contains(row.uuid), row.index.value_or(~0U), row.uuid);
        };
        std::sort(report.devices.begin(), report.devices.end(),
                  [&](const DeviceUsage& a, const DeviceUsage& b) { return rank(a) < rank(b); });
        return report;
    }

    struct Name {
        std::optional<std::uint32_t> index;
        std::string model;
    };

    const UsageInput& input_;
    std::map<std::uint32_t, UserUsage> users_;
    std::map<std::string, JobUsage> jobs_;
    std::map<std::string, DeviceUsage> devices_;
    std::map<std::string, Name> names_; // of devices that do not exist now
    std::map<std::string, std::vector<Change>> changes_;
};

} // namespace

const std::vector<std::string>& kindsOfUsage() {
    static const std::vector<std::string> kinds{
        "attached",   "detached",          "in-use",  "idle",  "wait-granted",
        "wait-ended", "environment-ended", "refused", "parked"};
    return kinds;
}

UsageReport usageReport(const UsageInput& input) {
    return Report(input).make();
}

std::optional<Time> earliestBeginning(const UsageInput& input) {
    std::optional<Time> earliest;
    const auto consider = [&](Time time) {
        earliest = earliest ? std::min(*earliest, time) : time;
    };
    for (const HistoryEvent& event : input.events) {
        if (event.kind == "detached" && event.since)
            consider(*event.since);
    }
    for (const HeldNow& held : input.held)
        consider(held.since);
    return earliest;
}

} // namespace genv::ctl
