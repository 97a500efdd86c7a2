// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/completion/completion_values.hpp"

#include "client/genvctl/cluster/cluster_choice.hpp"
#include "client/genvctl/cluster/jobs/slurm_jobs.hpp"
#include "client/genvctl/common/listed_devices.hpp"
#include "client/genvctl/common/system_bus.hpp"
#include "client/genvctl/jobs/job_text.hpp"
#include "client/genvctl/remote/known_hosts.hpp"
#include "client/genvctl/shell/variables.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "client/jobs/link/link.hpp"
#include "core/base/user_database.hpp"
#include "dbus/contract/names.hpp"

#include <fmt/ranges.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace genv::ctl {

namespace {

constexpr std::chrono::seconds answerTimeout{1};
// The first uid of a regular user on Debian; lower uids are system users.
constexpr std::uint32_t firstPerson = 1000;
constexpr std::uint32_t lastPerson = 60000;

// Rows as the service lists them.
using EnvironmentRow = sdbus::Struct<std::string, std::uint32_t, std::string, std::string,
                                     std::uint64_t, std::vector<std::uint32_t>, sdbus::ObjectPath>;
using AttachmentRow =
    sdbus::Struct<std::uint32_t, std::string, std::string, std::uint64_t, std::uint64_t>;
using ProcessRow = sdbus::Struct<std::uint32_t, std::uint32_t, std::string,
                                 std::vector<sdbus::Struct<std::uint32_t, std::uint64_t>>>;
using QueueRow =
    sdbus::Struct<std::uint64_t, std::string, std::uint32_t, std::uint32_t, std::uint64_t>;

struct ListedEnvironment {
    std::string id;
    std::uint32_t uid = 0;
    std::string user;
    std::string name;
    std::uint64_t created = 0; ///< µs since the epoch
    std::vector<std::uint32_t> processes;
};

struct DeviceCandidate {
    ListedDevice device;
    std::vector<std::string> holders;
    bool isFree = false;
};

// The running service. Where it does not answer, there are no candidates.
class RunningService {
  public:
    RunningService() {
        try {
            bus_.emplace(answerTimeout);
        } catch (const NoBus&) { // NOLINT(bugprone-empty-catch): nothing answers
        }
    }

    template <typename Row>
    [[nodiscard]] std::vector<Row> list(const char* method) const {
        return ask(
            [&](const SystemBus& bus) { return bus.call<std::vector<Row>>(manager, method); },
            std::vector<Row>());
    }
    [[nodiscard]] std::vector<ListedDevice> devices() const {
        return ask(&listDevices, std::vector<ListedDevice>());
    }
    /// Returns whether a device without holders is free, as far as the service says.
    [[nodiscard]] bool isFree(const std::string& path) const {
        const BusObject device{dbus::contract::busName, path.c_str(), "dev.genv.Device"};
        return ask([&](const SystemBus& bus) { return bus.property<bool>(device, "Free"); }, true);
    }

  private:
    template <typename Question, typename Value>
    [[nodiscard]] Value ask(const Question& question, Value otherwise) const {
        try {
            if (bus_)
                return question(*bus_);
        } catch (const CallFailed&) { // NOLINT(bugprone-empty-catch): as if it were absent
        }
        return otherwise;
    }

    std::optional<SystemBus> bus_;
};

std::vector<ListedEnvironment> environments(const RunningService& service) {
    std::vector<ListedEnvironment> found;
    for (const auto& row : service.list<EnvironmentRow>("ListEnvironments"))
        found.push_back({std::get<0>(row), std::get<1>(row), std::get<2>(row), std::get<3>(row),
                         std::get<4>(row), std::get<5>(row)});
    return found;
}

std::vector<DeviceCandidate> heldDevices(const RunningService& service) {
    std::vector<DeviceCandidate> devices;
    for (ListedDevice& device : service.devices())
        devices.push_back({std::move(device), {}});
    if (devices.empty())
        return devices;
    for (const auto& row : service.list<AttachmentRow>("ListAttachments")) {
        const auto held = std::ranges::find_if(devices, [&](const DeviceCandidate& each) {
            return each.device.index == std::get<0>(row);
        });
        if (held != devices.end())
            held->holders.push_back(std::get<1>(row));
    }
    for (DeviceCandidate& each : devices)
        each.isFree = each.holders.empty() && service.isFree(each.device.path);
    return devices;
}

std::vector<Candidate> environmentIds(const RunningService& service, bool onlyOwn) {
    std::vector<Candidate> found;
    for (const ListedEnvironment& row : environments(service)) {
        if (!onlyOwn || row.uid == geteuid() || geteuid() == 0)
            found.push_back({row.id, row.name.empty() ? row.user : row.user + ": " + row.name});
    }
    return found;
}

// Returns the id of this shell's environment if it still exists and belongs to the caller.
std::optional<std::string> ownEnvironment(const RunningService& service) {
    const auto named = namedEnvironment();
    if (!named)
        return std::nullopt;
    for (const ListedEnvironment& row : environments(service)) {
        if (row.id == named->id && row.uid == geteuid() &&
            (named->created.empty() || named->created == std::to_string(row.created)))
            return row.id;
    }
    return std::nullopt;
}

std::vector<Candidate> deviceNames(const RunningService& service, ValueKind kind) {
    const auto own =
        kind == ValueKind::AttachedDevice ? ownEnvironment(service) : std::optional<std::string>();
    std::vector<Candidate> found;
    for (const DeviceCandidate& row : heldDevices(service)) {
        const bool isOwn =
            own && std::find(row.holders.begin(), row.holders.end(), *own) != row.holders.end();
        if (kind == ValueKind::AttachedDevice && !isOwn)
            continue;
        const std::string holders = row.isFree ? "free"
                                    : row.holders.empty()
                                        ? "in use outside genv or unavailable"
                                        : fmt::format("held by {}", fmt::join(row.holders, ", "));
        found.push_back(
            {kind == ValueKind::DeviceUuid ? row.device.uuid : std::to_string(row.device.index),
             fmt::format("{}, {}", row.device.model, holders)});
    }
    return found;
}

std::vector<Candidate> deviceCounts(const RunningService& service) {
    const std::size_t free = [&] {
        const auto rows = heldDevices(service);
        return static_cast<std::size_t>(std::count_if(
            rows.begin(), rows.end(), [](const DeviceCandidate& row) { return row.isFree; }));
    }();
    std::vector<Candidate> found;
    for (std::size_t count = 1; count <= free; ++count)
        found.push_back({std::to_string(count), fmt::format("of {} free", free)});
    return found;
}

std::vector<Candidate> models(const RunningService& service) {
    std::map<std::string, std::size_t> counts;
    for (const ListedDevice& row : service.devices())
        ++counts[row.model];
    std::vector<Candidate> found;
    for (const auto& [model, count] : counts)
        found.push_back({model, fmt::format("{} GPU{}", count, count == 1 ? "" : "s")});
    return found;
}

// Returns the owners of environments and the users in this machine's own user database. A remote
// user database may have thousands of users and may be slow.
std::map<std::string, std::uint32_t> people(const RunningService& service) {
    std::map<std::string, std::uint32_t> found;
    for (const ListedEnvironment& row : environments(service))
        found.emplace(row.user, row.uid);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/etc/passwd", "re"),
                                                               &std::fclose);
    while (const passwd* entry = file ? fgetpwent(file.get()) : nullptr) {
        if (entry->pw_uid >= firstPerson && entry->pw_uid < lastPerson)
            found.emplace(entry->pw_name, entry->pw_uid);
    }
    return found;
}

std::vector<Candidate> rootProcesses(const RunningService& service) {
    std::vector<Candidate> found;
    for (const ListedEnvironment& row : environments(service)) {
        for (const std::uint32_t pid : row.processes)
            found.push_back(
                {std::to_string(pid), fmt::format("environment {} of {}", row.id, row.user)});
    }
    return found;
}

std::vector<Candidate> computeProcesses(const RunningService& service) {
    std::vector<Candidate> found;
    for (const auto& row : service.list<ProcessRow>("ListProcesses")) {
        const std::string& id = std::get<2>(row);
        found.push_back({std::to_string(std::get<0>(row)),
                         !id.empty() ? fmt::format("environment {}", id)
                                     : fmt::format("uid {}, in no environment", std::get<1>(row))});
    }
    return found;
}

std::vector<Candidate> tickets(const RunningService& service) {
    std::map<std::string, std::string> users;
    for (const ListedEnvironment& row : environments(service))
        users.emplace(row.id, row.user);
    std::vector<Candidate> found;
    for (const auto& row : service.list<QueueRow>("ListQueue")) {
        const std::string& id = std::get<1>(row);
        found.push_back(
            {std::to_string(std::get<0>(row)), fmt::format("environment {} of {}", id, users[id])});
    }
    return found;
}

// Starts no genv-jobs: the user may have no jobs at all.
std::vector<jobs::JobRow> jobsToComplete() {
    const bool isCluster =
        cluster::chosenCluster(std::nullopt, getenv, cluster::readConfiguration) !=
        cluster::Cluster::None;
    return isCluster ? cluster::rememberedJobs()
                     : jobs::Link(jobs::Link::Use::Completion).list(false);
}

std::vector<Candidate> jobNumbers() {
    std::vector<Candidate> found;
    try {
        for (const jobs::JobRow& job : jobsToComplete())
            found.push_back({std::to_string(job.number),
                             fmt::format("{}, {}", job.name.empty() ? job.command : job.name,
                                         stateText(job, currentTime()))});
    } catch (const std::exception&) { // NOLINT(bugprone-empty-catch): there are no candidates
    }
    return found;
}

std::vector<Candidate> hosts() {
    std::vector<Candidate> found;
    // ssh uses this folder regardless of HOME.
    const auto person = core::shownUser(geteuid());
    if (person && !person->home.empty()) {
        for (const std::string& host : knownHosts(std::filesystem::path(person->home) / ".ssh"))
            found.push_back({host, ""});
    }
    return found;
}

} // namespace

std::vector<Candidate> valuesElsewhere(ValueKind kind) {
    return kind == ValueKind::Host ? hosts() : std::vector<Candidate>{};
}

std::vector<Candidate> liveValues(ValueKind kind) {
    if (kind == ValueKind::Job)
        return jobNumbers();
    if (kind == ValueKind::Host)
        return hosts();
    const RunningService service;
    std::vector<Candidate> found;
    switch (kind) {
    case ValueKind::Environment:
    case ValueKind::OwnEnvironment:
        return environmentIds(service, kind == ValueKind::OwnEnvironment);
    case ValueKind::Device:
    case ValueKind::AttachedDevice:
    case ValueKind::DeviceUuid:
        return deviceNames(service, kind);
    case ValueKind::DeviceCount:
        return deviceCounts(service);
    case ValueKind::Model:
        return models(service);
    case ValueKind::User:
        for (const auto& [name, uid] : people(service))
            found.push_back({name, ""});
        return found;
    case ValueKind::Uid:
        for (const auto& [name, uid] : people(service))
            found.push_back({std::to_string(uid), name});
        return found;
    case ValueKind::UserLimit:
        for (const auto& [name, uid] : people(service))
            found.push_back({name + "=", ""});
        return found;
    case ValueKind::RootProcess:
        return rootProcesses(service);
    case ValueKind::ComputeProcess:
        return computeProcesses(service);
    case ValueKind::Ticket:
        return tickets(service);
    default:
        return found;
    }
}

} // namespace genv::ctl
