// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/service_link.hpp"

#include "client/jobs/daemon/variants.hpp"
#include "client/loop.hpp"
#include "dbus/contract/names.hpp"

#include <limits>
#include <memory>
#include <utility>

namespace genv::jobs {

namespace {

namespace contract = dbus::contract;
using event::check;
using namespace std::chrono_literals;

constexpr const char* genvdInterface = "dev.genv.Manager";
constexpr const char* environmentInterface = "dev.genv.Environment";
constexpr const char* propertiesInterface = "org.freedesktop.DBus.Properties";
// How long a caller of genv-jobs waits for what only genvd knows.
constexpr auto soon = 2s;

constexpr const char* doesNotRun = "genvd does not run";

std::string pathOf(const std::string& environment) {
    return dbus::raw::encodePath(contract::environmentPathPrefix, environment);
}

ServiceLink::Answer answerOf(const BusReply& reply) {
    using Outcome = ServiceLink::Outcome;
    if (!reply.isError())
        return {};
    const Outcome outcome = reply.isLost() ? Outcome::Lost : Outcome::Failed;
    return {outcome, std::string(reply.errorName()), reply.errorText()};
}

std::vector<DeviceRow> readRows(sd_bus_message* message) {
    std::vector<DeviceRow> rows;
    check(sd_bus_message_enter_container(message, 'a', "(ussto)"), "the devices");
    for (;;) {
        std::uint32_t index = 0;
        const char* uuid = nullptr;
        const char* model = nullptr;
        std::uint64_t memory = 0;
        const char* path = nullptr;
        if (check(sd_bus_message_read(message, "(ussto)", &index, &uuid, &model, &memory, &path),
                  "the devices") == 0)
            return rows;
        rows.push_back({index, uuid, model});
    }
}

QueueEntry entryOf(const ReadVariants& values) {
    QueueEntry entry;
    entry.waitsFor = values.text("waits-for");
    entry.limit = values.text("limit");
    entry.used = values.number("used");
    entry.allowed = values.number("allowed");
    entry.position = static_cast<std::uint32_t>(values.number("position"));
    if (const std::uint64_t start = values.number("expected-start"); start != 0)
        entry.expectedStart = core::fromMicroseconds(start);
    return entry;
}

Queue readQueue(sd_bus_message* message) {
    Queue queue;
    check(sd_bus_message_enter_container(message, 'a', "a{sv}"), "the queue");
    while (check(sd_bus_message_at_end(message, 0), "the queue") == 0) {
        const ReadVariants values(message);
        queue[values.text("environment")] = entryOf(values);
    }
    return queue;
}

// Returns the sum of the memory that a process uses on all devices.
std::uint64_t readUse(sd_bus_message* message) {
    constexpr auto unknown = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t sum = 0;
    check(sd_bus_message_enter_container(message, 'a', "(ut)"), "the processes");
    std::uint32_t device = 0;
    std::uint64_t bytes = 0;
    while (check(sd_bus_message_read(message, "(ut)", &device, &bytes), "the processes") > 0)
        sum += bytes == unknown ? 0 : bytes;
    check(sd_bus_message_exit_container(message), "the processes");
    return sum;
}

std::map<std::string, std::uint64_t> readProcesses(sd_bus_message* message) {
    std::map<std::string, std::uint64_t> memory;
    check(sd_bus_message_enter_container(message, 'a', "(uusa(ut))"), "the processes");
    while (check(sd_bus_message_enter_container(message, 'r', "uusa(ut)"), "the processes") > 0) {
        std::uint32_t pid = 0;
        std::uint32_t uid = 0;
        const char* environment = nullptr;
        check(sd_bus_message_read(message, "uus", &pid, &uid, &environment), "the processes");
        memory[environment] += readUse(message);
        check(sd_bus_message_exit_container(message), "the processes");
    }
    return memory;
}

void readEnvironment(sd_bus_message* message, GrantedEnvironment& granted) {
    const ReadVariants values(message);
    granted.id = values.text("Id");
    granted.name = values.text("Name");
    granted.created = std::chrono::microseconds(values.number("Created"));
    granted.gpus = static_cast<std::uint32_t>(values.number("Gpus"));
    granted.gpuMemoryBytes = values.number("GpuMemory");
    granted.devices = values.list("Devices");
    granted.hasParent = !values.text("Parent").empty();
}

} // namespace

ServiceLink::ServiceLink(const Bus& bus, std::function<void(bool)> changed)
    : bus_(bus), changed_(std::move(changed)) {
    bus_.watchName(contract::busName, [this](const std::string& owner) { onOwner(owner); });
}

void ServiceLink::onOwner(const std::string& owner) {
    if (owner_ == owner)
        return;
    if (!owner_.empty() && !owner.empty()) { // one genvd replaced another
        owner_.clear();
        changed_(false);
    }
    owner_ = owner;
    changed_(isThere());
}

std::string ServiceLink::destination() const {
    return owner_.empty() ? contract::busName : owner_;
}

Bus::Call ServiceLink::callManager(const char* member) const {
    return bus_.call(destination(), contract::managerPath, genvdInterface, member);
}

void ServiceLink::act(const Bus::Call& call, std::function<void(const Answer&)> handler) {
    bus_.send(call, Bus::endless,
              [handler = std::move(handler)](const BusReply& reply) { handler(answerOf(reply)); });
}

void ServiceLink::activate(const Dictionary& options, int process,
                           std::function<void(const Answer&)> handler) {
    if (!isThere()) {
        handler({Outcome::Lost, "", doesNotRun});
        return;
    }
    const Bus::Call call = callManager("Activate");
    check(sd_bus_message_open_container(call.get(), 'a', "{sv}"), "a request");
    appendEntries(call.get(), options);
    check(sd_bus_message_append(call.get(), "{sv}", "process", "h", process), "a request");
    check(sd_bus_message_close_container(call.get()), "a request");
    act(call, std::move(handler));
}

// The calls are sent at once; the replies come in this order.
void ServiceLink::readGranted(
    const std::string& environment,
    std::function<void(const Answer&, const GrantedEnvironment&)> handler) {
    const auto granted = std::make_shared<GrantedEnvironment>();
    bus_.send(callManager("ListDevices"), Bus::endless, [granted](const BusReply& reply) {
        if (!reply.isError())
            granted->machine = readRows(reply.message());
    });
    const Bus::Call get =
        bus_.call(destination(), contract::managerPath, propertiesInterface, "Get");
    check(sd_bus_message_append(get.get(), "ss", genvdInterface, "Isolation"), "a call");
    bus_.send(get, Bus::endless, [granted](const BusReply& reply) {
        const char* mode = "";
        if (!reply.isError())
            check(sd_bus_message_read(reply.message(), "v", "s", &mode), "the isolation");
        granted->isolation = mode;
    });
    const Bus::Call call =
        bus_.call(destination(), pathOf(environment), propertiesInterface, "GetAll");
    check(sd_bus_message_append(call.get(), "s", environmentInterface), "a call");
    bus_.send(call, Bus::endless, [granted, handler = std::move(handler)](const BusReply& reply) {
        if (!reply.isError())
            readEnvironment(reply.message(), *granted);
        handler(answerOf(reply), *granted);
    });
}

void ServiceLink::listDevices(
    std::function<void(const std::optional<std::vector<DeviceRow>>&)> handler) {
    bus_.send(
        callManager("ListDevices"), soon, [handler = std::move(handler)](const BusReply& reply) {
            handler(reply.isError() ? std::nullopt : std::optional(readRows(reply.message())));
        });
}

void ServiceLink::describeQueue(std::function<void(const Queue&)> handler) {
    if (!isThere()) {
        handler({});
        return;
    }
    bus_.send(callManager("DescribeQueue"), soon,
              [handler = std::move(handler)](const BusReply& reply) {
                  handler(reply.isError() ? Queue() : readQueue(reply.message()));
              });
}

void ServiceLink::readMemory(
    std::function<void(const std::map<std::string, std::uint64_t>&)> handler) {
    if (!isThere())
        return;
    bus_.send(callManager("ListProcesses"), Bus::endless,
              [handler = std::move(handler)](const BusReply& reply) {
                  if (!reply.isError())
                      handler(readProcesses(reply.message()));
              });
}

} // namespace genv::jobs
