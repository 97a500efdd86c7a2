// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/service_link.hpp"

#include "client/jobs/daemon/variants.hpp"
#include "dbus/contract/names.hpp"

#include <limits>
#include <memory>
#include <tuple>
#include <utility>

namespace genv::jobs {

namespace {

namespace contract = dbus::contract;
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

ServiceLink::Answer answerOf(const event::BusReply& reply) {
    using Outcome = ServiceLink::Outcome;
    if (!reply.isError())
        return {};
    const Outcome outcome = reply.isLost() ? Outcome::Lost : Outcome::Failed;
    return {outcome, std::string(reply.errorName()), reply.errorText()};
}

std::vector<DeviceRow> readRows(sdbus::Message& message) {
    std::vector<
        sdbus::Struct<std::uint32_t, std::string, std::string, std::uint64_t, sdbus::ObjectPath>>
        devices;
    message >> devices;
    std::vector<DeviceRow> rows;
    for (const auto& device : devices)
        rows.push_back({std::get<0>(device), std::get<1>(device), std::get<2>(device)});
    return rows;
}

RequestWait entryOf(const ReadVariants& values) {
    RequestWait entry;
    entry.waitsFor = values.text("waits-for");
    entry.limit = values.text("limit");
    entry.used = values.number("used");
    entry.allowed = values.number("allowed");
    entry.position = static_cast<std::uint32_t>(values.number("position"));
    if (const std::uint64_t start = values.number("expected-start"); start != 0)
        entry.expectedStart = core::fromMicroseconds(start);
    entry.takes = values.number("taking-deadline") != 0;
    entry.resumes = values.number("resumes") != 0;
    return entry;
}

RequestWaits readQueue(const sdbus::Message& message) {
    RequestWaits queue;
    dbus::raw::Reader reader(message);
    reader.array("a{sv}", [&] {
        const ReadVariants values(reader);
        queue[values.text("environment")] = entryOf(values);
    });
    return queue;
}

std::map<std::string, std::uint64_t> readProcesses(sdbus::Message& message) {
    constexpr auto unknown = std::numeric_limits<std::uint64_t>::max();
    using Use = sdbus::Struct<std::uint32_t, std::uint64_t>; // device and bytes
    std::vector<sdbus::Struct<std::uint32_t, std::uint32_t, std::string, std::vector<Use>>>
        processes;
    message >> processes;
    std::map<std::string, std::uint64_t> memory;
    for (const auto& process : processes) {
        std::uint64_t& sum = memory[std::get<2>(process)];
        for (const Use& use : std::get<3>(process))
            sum += std::get<1>(use) == unknown ? 0 : std::get<1>(use);
    }
    return memory;
}

void readEnvironment(const sdbus::Message& message, GrantedEnvironment& granted) {
    dbus::raw::Reader reader(message);
    const ReadVariants values(reader);
    granted.id = values.text("Id");
    granted.name = values.text("Name");
    granted.created = std::chrono::microseconds(values.number("Created"));
    granted.gpus = static_cast<std::uint32_t>(values.number("Gpus"));
    granted.gpuMemoryBytes = values.number("GpuMemory");
    granted.devices = values.list("Devices");
    granted.hasParent = !values.text("Parent").empty();
}

} // namespace

ServiceLink::ServiceLink(const event::LoopBus& bus, std::function<void(bool)> changed)
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

sdbus::MethodCall ServiceLink::callManager(const char* member) const {
    return bus_.call(destination(), contract::managerPath, genvdInterface, member);
}

void ServiceLink::act(const sdbus::MethodCall& call, std::function<void(const Answer&)> handler) {
    bus_.send(
        call, event::LoopBus::endless,
        [handler = std::move(handler)](const event::BusReply& reply) { handler(answerOf(reply)); });
}

void ServiceLink::activate(const Dictionary& options, int process,
                           std::function<void(const Answer&)> handler) {
    if (!isThere()) {
        handler({Outcome::Lost, "", doesNotRun});
        return;
    }
    Dictionary request = options;
    request.emplace("process", sdbus::Variant(sdbus::UnixFd(process)));
    sdbus::MethodCall call = callManager("Activate");
    call << request;
    act(call, std::move(handler));
}

// The calls are sent at once; the replies come in this order.
void ServiceLink::readGranted(
    const std::string& environment,
    std::function<void(const Answer&, const GrantedEnvironment&)> handler) {
    const auto granted = std::make_shared<GrantedEnvironment>();
    bus_.send(callManager("ListDevices"), event::LoopBus::endless,
              [granted](const event::BusReply& reply) {
                  if (!reply.isError())
                      granted->machine = readRows(reply.message());
              });
    sdbus::MethodCall get =
        bus_.call(destination(), contract::managerPath, propertiesInterface, "Get");
    get << genvdInterface << "Isolation";
    bus_.send(get, event::LoopBus::endless, [granted](const event::BusReply& reply) {
        if (!reply.isError())
            dbus::raw::Reader(reply.message()).readVariant("s", granted->isolation);
    });
    sdbus::MethodCall call =
        bus_.call(destination(), pathOf(environment), propertiesInterface, "GetAll");
    call << environmentInterface;
    bus_.send(call, event::LoopBus::endless,
              [granted, handler = std::move(handler)](const event::BusReply& reply) {
                  if (!reply.isError())
                      readEnvironment(reply.message(), *granted);
                  handler(answerOf(reply), *granted);
              });
}

void ServiceLink::listDevices(
    std::function<void(const std::optional<std::vector<DeviceRow>>&)> handler) {
    bus_.send(callManager("ListDevices"), soon,
              [handler = std::move(handler)](const event::BusReply& reply) {
                  handler(reply.isError() ? std::nullopt
                                          : std::optional(readRows(reply.message())));
              });
}

void ServiceLink::describeQueue(std::function<void(const RequestWaits&)> handler) {
    if (!isThere()) {
        handler({});
        return;
    }
    bus_.send(callManager("DescribeQueue"), soon,
              [handler = std::move(handler)](const event::BusReply& reply) {
                  handler(reply.isError() ? RequestWaits() : readQueue(reply.message()));
              });
}

void ServiceLink::readMemory(
    std::function<void(const std::map<std::string, std::uint64_t>&)> handler) {
    if (!isThere())
        return;
    bus_.send(callManager("ListProcesses"), event::LoopBus::endless,
              [handler = std::move(handler)](const event::BusReply& reply) {
                  if (!reply.isError())
                      handler(readProcesses(reply.message()));
              });
}

} // namespace genv::jobs
