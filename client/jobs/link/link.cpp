// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/link/link.hpp"

#include "client/jobs/link/jobs_unavailable.hpp"
#include "client/jobs/link/reading.hpp"
#include "client/jobs/link/start.hpp"
#include "client/jobs/link/user_bus.hpp"
#include "dbus/contract/jobs_names.hpp"
#include "dbus/contract/names.hpp"
#include "dbus/contract/sdbus_compat.hpp"
#include "genv/error.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <system_error>
#include <utility>

namespace genv::jobs {

namespace contract = dbus::contract;
namespace raw = dbus::raw;

namespace {

constexpr const char* jobsInterface = "dev.genv.Jobs";

// Turns the errors of sdbus-c++ into those of this class.
template <typename Function>
auto translated(Function&& function) {
    try {
        return function();
    } catch (const sdbus::Error& error) {
        const std::string& name = error.getName();
        if (meansUnavailable(name))
            throw notReached(name, error.getMessage());
        throw Error(name, error.getMessage());
    }
}

using Clock = std::chrono::steady_clock;

// Returns a timeout for poll(), where -1 is none.
int soonest(int timeout, Clock::time_point deadline) {
    if (deadline == Clock::time_point::max())
        return timeout;
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    const int own = static_cast<int>(std::max<std::int64_t>(rest.count(), 0));
    return timeout < 0 ? own : std::min(timeout, own);
}

template <typename Row>
std::vector<Row> readRows(const sdbus::Message& reply) {
    std::vector<Row> rows;
    raw::Reader reader(reply);
    reader.array("a{sv}", [&] { read(reader, rows.emplace_back()); });
    return rows;
}

} // namespace

Link::Link(Use use)
    : bus_(use == Use::Watch ? connectToNamedUserBus() : connectToUserBus()),
      proxy_(dbus::compat::makeProxy(*bus_, contract::jobsBusName, contract::jobsPath)), use_(use) {
    using namespace std::chrono_literals;
    constexpr std::chrono::microseconds timeout = 1s;
    if (use_ != Use::Command)
        bus_->setMethodCallTimeout(static_cast<std::uint64_t>(timeout.count()));
}

Link::~Link() = default;

sdbus::MethodReply Link::call(const char* method, const Write& write) {
    if (use_ == Use::Command)
        requireJobs(*bus_);
    auto message = dbus::compat::makeCall(*proxy_, jobsInterface, method);
    raw::Writer writer(message);
    write(writer);
    if (use_ != Use::Command)
        raw::Message(message).startNoService();
    return proxy_->callMethod(message);
}

bool Link::isRunning() {
    return translated([&] { return hasJobs(*bus_); });
}

Submitted Link::submit(const NewJob& job) {
    return translated([&] {
        const auto reply = call("Submit", [&](raw::Writer& writer) { write(writer, job); });
        raw::Reader reader(reply);
        Submitted submitted;
        reader.read(submitted.job);
        reader.array("{sv}", [&] {
            reader.entry("sv", [&] {
                if (std::string_view(reader.readText('s')) != "lingering") {
                    reader.skipVariant();
                    return;
                }
                std::string lingering;
                reader.readVariant("s", lingering);
                submitted.lingering =
                    lingering == "enabled" ? LingeringChange::Enabled : LingeringChange::Refused;
            });
        });
        return submitted;
    });
}

std::vector<JobRow> Link::list(bool all) {
    return translated([&] {
        return readRows<JobRow>(call("List", [&](raw::Writer& writer) {
            writer.array("{sv}", [&] {
                if (all)
                    writer.property("all", true);
            });
        }));
    });
}

JobDescription Link::get(JobNumber job) {
    return translated([&] {
        const auto reply = call("Get", [&](raw::Writer& writer) { writer.write(job); });
        raw::Reader reader(reply);
        JobDescription description;
        read(reader, description);
        return description;
    });
}

std::vector<TaskRow> Link::tasks(JobNumber job, const std::vector<std::uint32_t>& numbers) {
    return translated([&] {
        return readRows<TaskRow>(call("ListTasks", [&](raw::Writer& writer) {
            writer.write(job);
            writer.write(numbers);
        }));
    });
}

std::uint32_t Link::change(const char* method, JobNumber job,
                           const std::vector<std::uint32_t>& tasks) {
    return translated([&] {
        const auto reply = call(method, [&](raw::Writer& writer) {
            writer.write(job);
            writer.write(tasks);
        });
        std::uint32_t count = 0;
        raw::Reader(reply).read(count);
        return count;
    });
}

std::uint32_t Link::cancel(JobNumber job, const std::vector<std::uint32_t>& tasks) {
    return change("Cancel", job, tasks);
}

std::uint32_t Link::hold(JobNumber job, const std::vector<std::uint32_t>& tasks) {
    return change("Hold", job, tasks);
}

std::uint32_t Link::release(JobNumber job, const std::vector<std::uint32_t>& tasks) {
    return change("Release", job, tasks);
}

std::uint32_t Link::requeue(JobNumber job, const std::vector<std::uint32_t>& tasks) {
    return change("Requeue", job, tasks);
}

void Link::listen() {
    translated([&] {
        matches_.push_back(
            dbus::compat::addMatch(*bus_,
                                   fmt::format("type='signal',interface='{}',path='{}'",
                                               jobsInterface, contract::jobsPath),
                                   [this](sdbus::Message& message) {
                                       JobNumber job = 0;
                                       raw::Reader(message).read(job);
                                       changes_.jobs.insert(job);
                                   }));
        matches_.push_back(dbus::compat::addMatch(
            *bus_,
            fmt::format("type='signal',sender='{0}',interface='{0}',member='NameOwnerChanged',"
                        "arg0='{1}'",
                        contract::busDriver, contract::jobsBusName),
            [this](sdbus::Message&) { changes_.all = true; }));
    });
}

void Link::handleArrived() {
    while (dbus::compat::processPending(*bus_)) {
    }
}

Link::Changes Link::await(int watched, std::optional<std::chrono::milliseconds> timeout) {
    const auto deadline = timeout ? Clock::now() + *timeout : Clock::time_point::max();
    return translated([&] {
        for (;;) {
            handleArrived();
            if (changes_.all || !changes_.jobs.empty())
                return std::exchange(changes_, {});
            const auto wanted = bus_->getEventLoopPollData();
            std::array<pollfd, 2> descriptors{pollfd{watched, POLLIN, 0},
                                              pollfd{wanted.fd, wanted.events, 0}};
            if (::poll(descriptors.data(), descriptors.size(),
                       soonest(wanted.getPollTimeout(), deadline)) < 0 &&
                errno != EINTR)
                throw std::system_error(errno, std::generic_category(), "waiting for genv-jobs");
            if (descriptors[0].revents != 0 || deadline <= Clock::now())
                return Changes();
        }
    });
}

} // namespace genv::jobs
