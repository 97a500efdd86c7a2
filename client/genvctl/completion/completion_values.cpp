// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/completion/completion_values.hpp"

#include "client/genvctl/jobs/job_text.hpp"
#include "client/genvctl/remote/known_hosts.hpp"
#include "client/genvctl/shell/variables.hpp"
#include "client/genvctl/terminal/text.hpp"
#include "client/jobs/link/link.hpp"
#include "core/user_database.hpp"
#include "dbus/contract/names.hpp"

#include <fmt/ranges.h>
#include <pwd.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>

namespace genv::ctl {

namespace {

constexpr std::uint64_t timeoutMicroseconds = 1'000'000;
// The first uid of a regular user on Debian; lower uids are system users.
constexpr std::uint32_t firstPerson = 1000;
constexpr std::uint32_t lastPerson = 60000;

struct Unref {
    void operator()(sd_bus* bus) const { sd_bus_flush_close_unref(bus); }
    void operator()(sd_bus_message* message) const { sd_bus_message_unref(message); }
};
using Message = std::unique_ptr<sd_bus_message, Unref>;

struct EnvironmentRow {
    std::string id;
    std::uint32_t uid = 0;
    std::string user;
    std::string name;
    std::uint64_t created = 0; ///< µs since the epoch
    std::vector<std::uint32_t> processes;
};

struct DeviceRow {
    std::uint32_t index = 0;
    std::string uuid;
    std::string model;
    std::string path;
    std::vector<std::string> holders;
    bool isFree = false;
};

class Bus {
  public:
    Bus() {
        sd_bus* bus = nullptr;
        if (sd_bus_open_system(&bus) >= 0)
            bus_.reset(bus);
    }

    /// Calls a method of the manager without arguments. Returns null on any failure.
    [[nodiscard]] Message call(const char* member) const {
        sd_bus_message* raw = nullptr;
        if (!bus_ || sd_bus_message_new_method_call(bus_.get(), &raw, dbus::contract::busName,
                                                    dbus::contract::managerPath, "dev.genv.Manager",
                                                    member) < 0)
            return nullptr;
        const Message message(raw);
        sd_bus_message_set_auto_start(message.get(), 0);
        sd_bus_message* reply = nullptr;
        if (sd_bus_call(bus_.get(), message.get(), timeoutMicroseconds, nullptr, &reply) < 0)
            return nullptr;
        return Message(reply);
    }

    /// Returns whether a device without holders is free, as far as the service says.
    [[nodiscard]] bool isFree(const std::string& path) const {
        int free = 0;
        return !bus_ ||
               sd_bus_get_property_trivial(bus_.get(), dbus::contract::busName, path.c_str(),
                                           "dev.genv.Device", "Free", nullptr, 'b', &free) < 0 ||
               free != 0;
    }

  private:
    std::unique_ptr<sd_bus, Unref> bus_;
};

// Reads the structures of an array; `row` reads one of them.
template <typename Row>
void forEach(sd_bus_message* message, const char* types, Row row) {
    if (message == nullptr || sd_bus_message_enter_container(message, 'a', nullptr) <= 0)
        return;
    while (sd_bus_message_enter_container(message, 'r', types) > 0) {
        row();
        if (sd_bus_message_exit_container(message) < 0)
            return;
    }
}

std::vector<EnvironmentRow> environments(const Bus& bus) {
    std::vector<EnvironmentRow> rows;
    const Message reply = bus.call("ListEnvironments");
    forEach(reply.get(), "susstauo", [&] {
        EnvironmentRow row;
        const char* id = "";
        const char* user = "";
        const char* name = "";
        sd_bus_message_read(reply.get(), "susst", &id, &row.uid, &user, &name, &row.created);
        const void* pids = nullptr;
        std::size_t bytes = 0;
        if (sd_bus_message_read_array(reply.get(), 'u', &pids, &bytes) >= 0) {
            const auto* first = static_cast<const std::uint32_t*>(pids);
            row.processes.assign(first, first + bytes / sizeof(std::uint32_t));
        }
        sd_bus_message_skip(reply.get(), "o");
        row.id = id;
        row.user = user;
        row.name = name;
        rows.push_back(std::move(row));
    });
    return rows;
}

std::vector<DeviceRow> devices(const Bus& bus) {
    std::vector<DeviceRow> rows;
    const Message reply = bus.call("ListDevices");
    forEach(reply.get(), "ussto", [&] {
        DeviceRow row;
        const char* uuid = "";
        const char* model = "";
        const char* path = "";
        sd_bus_message_read(reply.get(), "uss", &row.index, &uuid, &model);
        sd_bus_message_skip(reply.get(), "t");
        sd_bus_message_read(reply.get(), "o", &path);
        row.path = path;
        row.uuid = uuid;
        row.model = model;
        rows.push_back(std::move(row));
    });
    return rows;
}

std::vector<DeviceRow> heldDevices(const Bus& bus) {
    std::vector<DeviceRow> rows = devices(bus);
    const Message reply = rows.empty() ? nullptr : bus.call("ListAttachments");
    forEach(reply.get(), "usstt", [&] {
        std::uint32_t index = 0;
        const char* id = "";
        sd_bus_message_read(reply.get(), "us", &index, &id);
        sd_bus_message_skip(reply.get(), "stt");
        const auto row = std::find_if(rows.begin(), rows.end(),
                                      [&](const DeviceRow& r) { return r.index == index; });
        if (row != rows.end())
            row->holders.emplace_back(id);
    });
    for (DeviceRow& row : rows)
        row.isFree = row.holders.empty() && bus.isFree(row.path);
    return rows;
}

std::vector<Candidate> environmentIds(const Bus& bus, bool onlyOwn) {
    std::vector<Candidate> found;
    for (const EnvironmentRow& row : environments(bus)) {
        if (!onlyOwn || row.uid == geteuid() || geteuid() == 0)
            found.push_back({row.id, row.name.empty() ? row.user : row.user + ": " + row.name});
    }
    return found;
}

// Returns the id of this shell's environment if it still exists and belongs to the caller.
std::optional<std::string> ownEnvironment(const Bus& bus) {
    const auto named = namedEnvironment();
    if (!named)
        return std::nullopt;
    for (const EnvironmentRow& row : environments(bus)) {
        if (row.id == named->id && row.uid == geteuid() &&
            (named->created.empty() || named->created == std::to_string(row.created)))
            return row.id;
    }
    return std::nullopt;
}

std::vector<Candidate> deviceNames(const Bus& bus, ValueKind kind) {
    const auto own =
        kind == ValueKind::AttachedDevice ? ownEnvironment(bus) : std::optional<std::string>();
    std::vector<Candidate> found;
    for (const DeviceRow& row : heldDevices(bus)) {
        const bool isOwn =
            own && std::find(row.holders.begin(), row.holders.end(), *own) != row.holders.end();
        if (kind == ValueKind::AttachedDevice && !isOwn)
            continue;
        const std::string holders = row.isFree ? "free"
                                    : row.holders.empty()
                                        ? "in use outside genv or unavailable"
                                        : fmt::format("held by {}", fmt::join(row.holders, ", "));
        found.push_back({kind == ValueKind::DeviceUuid ? row.uuid : std::to_string(row.index),
                         fmt::format("{}, {}", row.model, holders)});
    }
    return found;
}

std::vector<Candidate> deviceCounts(const Bus& bus) {
    const std::size_t free = [&] {
        const auto rows = heldDevices(bus);
        return static_cast<std::size_t>(std::count_if(
            rows.begin(), rows.end(), [](const DeviceRow& row) { return row.isFree; }));
    }();
    std::vector<Candidate> found;
    for (std::size_t count = 1; count <= free; ++count)
        found.push_back({std::to_string(count), fmt::format("of {} free", free)});
    return found;
}

std::vector<Candidate> models(const Bus& bus) {
    std::map<std::string, std::size_t> counts;
    for (const DeviceRow& row : devices(bus))
        ++counts[row.model];
    std::vector<Candidate> found;
    for (const auto& [model, count] : counts)
        found.push_back({model, fmt::format("{} GPU{}", count, count == 1 ? "" : "s")});
    return found;
}

// Returns the owners of environments and the users in this machine's own user database. A remote
// user database may have thousands of users and may be slow.
std::map<std::string, std::uint32_t> people(const Bus& bus) {
    std::map<std::string, std::uint32_t> found;
    for (const EnvironmentRow& row : environments(bus))
        found.emplace(row.user, row.uid);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/etc/passwd", "re"),
                                                               &std::fclose);
    while (const passwd* entry = file ? fgetpwent(file.get()) : nullptr) {
        if (entry->pw_uid >= firstPerson && entry->pw_uid < lastPerson)
            found.emplace(entry->pw_name, entry->pw_uid);
    }
    return found;
}

std::vector<Candidate> rootProcesses(const Bus& bus) {
    std::vector<Candidate> found;
    for (const EnvironmentRow& row : environments(bus)) {
        for (const std::uint32_t pid : row.processes)
            found.push_back(
                {std::to_string(pid), fmt::format("environment {} of {}", row.id, row.user)});
    }
    return found;
}

std::vector<Candidate> computeProcesses(const Bus& bus) {
    std::vector<Candidate> found;
    const Message reply = bus.call("ListProcesses");
    forEach(reply.get(), "uusa(ut)", [&] {
        std::uint32_t pid = 0;
        std::uint32_t uid = 0;
        const char* id = "";
        sd_bus_message_read(reply.get(), "uus", &pid, &uid, &id);
        sd_bus_message_skip(reply.get(), "a(ut)");
        found.push_back({std::to_string(pid), *id != '\0'
                                                  ? fmt::format("environment {}", id)
                                                  : fmt::format("uid {}, in no environment", uid)});
    });
    return found;
}

std::vector<Candidate> tickets(const Bus& bus) {
    std::map<std::string, std::string> users;
    for (const EnvironmentRow& row : environments(bus))
        users.emplace(row.id, row.user);
    std::vector<Candidate> found;
    const Message reply = bus.call("ListQueue");
    forEach(reply.get(), "tsuut", [&] {
        std::uint64_t ticket = 0;
        const char* id = "";
        sd_bus_message_read(reply.get(), "ts", &ticket, &id);
        sd_bus_message_skip(reply.get(), "uut");
        found.push_back(
            {std::to_string(ticket), fmt::format("environment {} of {}", id, users[id])});
    });
    return found;
}

// Starts no genv-jobs: the user may have no jobs at all.
std::vector<Candidate> jobNumbers() {
    std::vector<Candidate> found;
    try {
        for (const jobs::JobRow& job : jobs::Link(jobs::Link::Use::Completion).list(false))
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
    const Bus bus;
    std::vector<Candidate> found;
    switch (kind) {
    case ValueKind::Environment:
    case ValueKind::OwnEnvironment:
        return environmentIds(bus, kind == ValueKind::OwnEnvironment);
    case ValueKind::Device:
    case ValueKind::AttachedDevice:
    case ValueKind::DeviceUuid:
        return deviceNames(bus, kind);
    case ValueKind::DeviceCount:
        return deviceCounts(bus);
    case ValueKind::Model:
        return models(bus);
    case ValueKind::User:
        for (const auto& [name, uid] : people(bus))
            found.push_back({name, ""});
        return found;
    case ValueKind::Uid:
        for (const auto& [name, uid] : people(bus))
            found.push_back({std::to_string(uid), name});
        return found;
    case ValueKind::UserLimit:
        for (const auto& [name, uid] : people(bus))
            found.push_back({name + "=", ""});
        return found;
    case ValueKind::RootProcess:
        return rootProcesses(bus);
    case ValueKind::ComputeProcess:
        return computeProcesses(bus);
    case ValueKind::Ticket:
        return tickets(bus);
    case ValueKind::Job:
        return jobNumbers();
    case ValueKind::Host:
        return hosts();
    default:
        return found;
    }
}

} // namespace genv::ctl
