// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/unit_link.hpp"

#include "client/jobs/files/attempt.hpp"
#include "client/loop.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

namespace genv::jobs {

namespace {

using event::check;

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

/// Writes the properties of a unit.
class Properties {
  public:
    explicit Properties(sd_bus_message* message) : message_(message) {
        check(sd_bus_message_open_container(message, 'a', "(sv)"), what);
    }

    void text(const char* name, const std::string& value) {
        check(sd_bus_message_append(message_, "(sv)", name, "s", value.c_str()), what);
    }
    void number(const char* name, std::uint64_t value) {
        check(sd_bus_message_append(message_, "(sv)", name, "t", value), what);
    }
    void descriptor(const char* name, int value) {
        check(sd_bus_message_append(message_, "(sv)", name, "h", value), what);
    }
    void command(const std::string& program, const std::string& argument) {
        check(sd_bus_message_append(message_, "(sv)", "ExecStart", "a(sasb)", 1, program.c_str(), 2,
                                    program.c_str(), argument.c_str(), 0),
              what);
    }
    void variables() {
        check(sd_bus_message_open_container(message_, 'r', "sv"), what);
        check(sd_bus_message_append(message_, "s", "Environment"), what);
        check(sd_bus_message_open_container(message_, 'v', "as"), what);
        check(sd_bus_message_open_container(message_, 'a', "s"), what);
        for (const char* name : passedVariables) {
            if (const char* value = std::getenv(name))
                check(
                    sd_bus_message_append(message_, "s", fmt::format("{}={}", name, value).c_str()),
                    what);
        }
        for (int depth = 0; depth < 3; ++depth)
            check(sd_bus_message_close_container(message_), what);
    }
    void finish() { check(sd_bus_message_close_container(message_), what); }

  private:
    static constexpr const char* what = "the properties of a unit";
    sd_bus_message* message_;
};

void appendProperties(sd_bus_message* message, const std::string& runner,
                      const AttemptName& attempt, const UnitLimits& limits, int input) {
    Properties properties(message);
    properties.text("Description", describe(attempt.task));
    properties.text("Type", "exec");
    properties.command(runner, textOf(attempt));
    properties.descriptor("StandardInputFileDescriptor", input);
    properties.text("StandardOutput", "journal");
    properties.text("StandardError", "journal");
    properties.variables();
    properties.text("CollectMode", "inactive-or-failed");
    properties.text("KillMode", "control-group");
    properties.text("Slice", "app.slice");
    properties.number("TimeoutStopUSec", timeToEnd);
    // A command that exceeds its memory is killed; genv-job records how it ended.
    properties.text("OOMPolicy", "continue");
    if (limits.cpus != 0)
        properties.number("CPUQuotaPerSecUSec", limits.cpus * second);
    if (limits.memoryBytes != 0)
        properties.number("MemoryMax", limits.memoryBytes);
    properties.finish();
}

UnitState stateOf(std::string_view active) {
    return active == "inactive" || active == "failed" ? UnitState::Gone : UnitState::There;
}

std::map<AttemptName, UnitState> readUnits(sd_bus_message* message) {
    constexpr const char* what = "the units";
    std::map<AttemptName, UnitState> units;
    check(sd_bus_message_enter_container(message, 'a', "(ssssssouso)"), what);
    for (;;) {
        std::array<const char*, 6> texts{}; // name, description, load, active, sub, followed
        const char* path = nullptr;
        std::uint32_t job = 0;
        const char* type = nullptr;
        const char* jobPath = nullptr;
        if (check(sd_bus_message_read(message, "(ssssssouso)", &texts[0], &texts[1], &texts[2],
                                      &texts[3], &texts[4], &texts[5], &path, &job, &type,
                                      &jobPath),
                  what) == 0)
            return units;
        if (const auto attempt = attemptOf(texts[0]))
            units[*attempt] = stateOf(texts[3]);
    }
}

std::string signalRule(const char* member) {
    return fmt::format("type='signal',sender='{}',path='{}',interface='{}',member='{}'",
                       managerName, managerPath, managerInterface, member);
}

} // namespace

UnitLink::UnitLink(const Bus& bus, std::string runner, Listener listener)
    : bus_(bus), runner_(std::move(runner)), listener_(std::move(listener)) {
    bus_.listen(signalRule("UnitRemoved"),
                [this](sd_bus_message* signal) { onUnitRemoved(signal); });
    bus_.watchName(managerName, [this](const std::string& owner) { onOwner(owner); });
}

Bus::Call UnitLink::callManager(const char* member) const {
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
    bus_.send(callManager("Subscribe"), Bus::endless, [](const BusReply&) {});
    listener_.appeared();
}

void UnitLink::start(const AttemptName& attempt, const UnitLimits& limits, int input,
                     std::function<void(const std::string&)> failed) {
    const Bus::Call call = callManager("StartTransientUnit");
    check(sd_bus_message_append(call.get(), "ss", unitOf(attempt).c_str(), "fail"), "a unit");
    appendProperties(call.get(), runner_, attempt, limits, input);
    check(sd_bus_message_append(call.get(), "a(sa(sv))", 0), "a unit");
    bus_.send(call, Bus::endless, [failed = std::move(failed)](const BusReply& reply) {
        if (reply.isError() && !reply.isLost())
            failed(reply.errorText());
    });
}

void UnitLink::stop(const AttemptName& attempt) {
    if (!isThere())
        return;
    const Bus::Call call = callManager("StopUnit");
    check(sd_bus_message_append(call.get(), "ss", unitOf(attempt).c_str(), "replace"), "a unit");
    bus_.send(call, Bus::endless, [](const BusReply&) {}); // an error: the unit is gone
}

void UnitLink::list(std::function<void(const std::map<AttemptName, UnitState>&)> handler) {
    const Bus::Call call = callManager("ListUnitsByPatterns");
    const std::string pattern = fmt::format("{}*{}", prefix, suffix);
    check(sd_bus_message_append(call.get(), "asas", 0, 1, pattern.c_str()), "the units");
    bus_.send(call, Bus::endless, [handler = std::move(handler)](const BusReply& reply) {
        if (!reply.isError())
            handler(readUnits(reply.message()));
    });
}

void UnitLink::onUnitRemoved(sd_bus_message* signal) {
    const char* unit = nullptr;
    const char* path = nullptr;
    check(sd_bus_message_read(signal, "so", &unit, &path), "a signal");
    if (const auto attempt = attemptOf(unit))
        listener_.gone(*attempt);
}

} // namespace genv::jobs
