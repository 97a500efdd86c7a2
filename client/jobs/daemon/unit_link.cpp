// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/unit_link.hpp"

#include "client/jobs/files/attempt.hpp"
#include "client/transient_unit.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace genv::jobs {

namespace {

constexpr const char* managerName = "org.freedesktop.systemd1";
constexpr const char* managerPath = "/org/freedesktop/systemd1";
constexpr const char* managerInterface = "org.freedesktop.systemd1.Manager";
constexpr std::string_view prefix = "genv-job-";
constexpr std::string_view suffix = ".service";

constexpr std::uint64_t second = 1'000'000; // µs
constexpr std::uint64_t timeToEnd = 30 * second;

// genv-job must find the same files and the same genvd as this program.
constexpr std::array passedVariables{"HOME", "XDG_STATE_HOME"};

std::string unitOf(const AttemptName& attempt) {
    return fmt::format("{}{}{}", prefix, textOf(attempt), suffix);
}

std::optional<AttemptName> attemptOf(std::string_view unit) {
    if (!unit.starts_with(prefix) || !unit.ends_with(suffix) ||
        unit.size() < prefix.size() + suffix.size())
        return std::nullopt;
    unit.remove_prefix(prefix.size());
    unit.remove_suffix(suffix.size());
    return parseAttemptName(unit);
}

// The number says which job it is; its command stays out of the journal.
std::string describe(const TaskName& task) {
    return task.number == 0 ? fmt::format("genv job {}", task.job)
                            : fmt::format("genv job {}.{}", task.job, task.number);
}

// What ExecStart= runs. Its failure counts.
std::vector<sdbus::Struct<std::string, std::vector<std::string>, bool>>
commandOf(const std::string& program, const std::string& argument) {
    return {{program, std::vector<std::string>{program, argument}, false}};
}

std::vector<std::string> passedOn() {
    std::vector<std::string> variables;
    for (const char* name : passedVariables) {
        if (const char* value = std::getenv(name))
            variables.push_back(fmt::format("{}={}", name, value));
    }
    return variables;
}

client::UnitProperties propertiesOf(const std::string& runner, const AttemptName& attempt,
                                    const UnitLimits& limits, int input) {
    client::UnitProperties properties{
        client::unitProperty("Description", describe(attempt.task)),
        client::unitProperty("Type", std::string("exec")),
        client::unitProperty("ExecStart", commandOf(runner, textOf(attempt))),
        client::unitProperty("StandardInputFileDescriptor", sdbus::UnixFd(input)),
        client::unitProperty("StandardOutput", std::string("journal")),
        client::unitProperty("StandardError", std::string("journal")),
        client::unitProperty("Environment", passedOn()),
        client::unitProperty("CollectMode", std::string("inactive-or-failed")),
        client::unitProperty("KillMode", std::string("control-group")),
        client::unitProperty("Slice", std::string("app.slice")),
        client::unitProperty("TimeoutStopUSec", timeToEnd),
        // A command that exceeds its memory is killed; genv-job records how it ended.
        client::unitProperty("OOMPolicy", std::string("continue")),
    };
    if (limits.cpus != 0)
        properties.push_back(client::unitProperty("CPUQuotaPerSecUSec", limits.cpus * second));
    if (limits.memoryBytes != 0)
        properties.push_back(client::unitProperty("MemoryMax", limits.memoryBytes));
    return properties;
}

UnitState stateOf(std::string_view active) {
    return active == "inactive" || active == "failed" ? UnitState::Gone : UnitState::There;
}

std::map<AttemptName, UnitState> readUnits(sdbus::Message& message) {
    // Name, description, load, active, sub, followed, path, job, its type and its path.
    std::vector<
        sdbus::Struct<std::string, std::string, std::string, std::string, std::string, std::string,
                      sdbus::ObjectPath, std::uint32_t, std::string, sdbus::ObjectPath>>
        listed;
    message >> listed;
    std::map<AttemptName, UnitState> units;
    for (const auto& unit : listed) {
        if (const auto attempt = attemptOf(std::get<0>(unit)))
            units[*attempt] = stateOf(std::get<3>(unit));
    }
    return units;
}

std::string signalRule(const char* member) {
    return fmt::format("type='signal',sender='{}',path='{}',interface='{}',member='{}'",
                       managerName, managerPath, managerInterface, member);
}

} // namespace

UnitLink::UnitLink(const event::LoopBus& bus, std::string runner, Listener listener)
    : bus_(bus), runner_(std::move(runner)), listener_(std::move(listener)) {
    bus_.listen(signalRule("UnitRemoved"),
                [this](sdbus::Message& signal) { onUnitRemoved(signal); });
    bus_.watchName(managerName, [this](const std::string& owner) { onOwner(owner); });
}

sdbus::MethodCall UnitLink::callManager(const char* member) const {
    return bus_.call(owner_, managerPath, managerInterface, member);
}

// Without a subscriber, the manager emits no signals.
void UnitLink::onOwner(const std::string& owner) {
    if (owner_ == owner)
        return;
    if (!std::exchange(owner_, "").empty())
        listener_.disappeared();
    if (owner.empty())
        return;
    owner_ = owner;
    bus_.send(callManager("Subscribe"), event::LoopBus::endless, [](const event::BusReply&) {});
    listener_.appeared();
}

void UnitLink::start(const AttemptName& attempt, const UnitLimits& limits, int input,
                     std::function<void(const std::string&)> failed) {
    sdbus::MethodCall call = callManager("StartTransientUnit");
    client::writeTransientUnit(call, unitOf(attempt),
                               propertiesOf(runner_, attempt, limits, input));
    bus_.send(call, event::LoopBus::endless,
              [failed = std::move(failed)](const event::BusReply& reply) {
                  if (reply.isError() && !reply.isLost())
                      failed(reply.errorText());
              });
}

void UnitLink::stop(const AttemptName& attempt) {
    if (!isThere())
        return;
    sdbus::MethodCall call = callManager("StopUnit");
    call << unitOf(attempt) << "replace";
    bus_.send(call, event::LoopBus::endless,
              [](const event::BusReply&) {}); // an error: the unit is gone
}

void UnitLink::list(std::function<void(const std::map<AttemptName, UnitState>&)> handler) {
    sdbus::MethodCall call = callManager("ListUnitsByPatterns");
    const std::vector<std::string> anyState;
    call << anyState << std::vector{fmt::format("{}*{}", prefix, suffix)};
    bus_.send(call, event::LoopBus::endless,
              [handler = std::move(handler)](const event::BusReply& reply) {
                  if (!reply.isError())
                      handler(readUnits(reply.message()));
              });
}

void UnitLink::onUnitRemoved(sdbus::Message& signal) {
    std::string unit;
    signal >> unit;
    if (const auto attempt = attemptOf(unit))
        listener_.gone(*attempt);
}

} // namespace genv::jobs
