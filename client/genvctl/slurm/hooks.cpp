// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/slurm/hooks.hpp"

#include "client/genvctl/common/system_bus.hpp"
#include "client/genvctl/shell/status_file.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/text.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <syslog.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

namespace genv::ctl {

namespace {

// The timeout for starting and calling the service. slurmd waits much longer.
constexpr std::chrono::seconds busTimeout{5};
// The timeout for everything else that may hang, such as the log.
constexpr unsigned hookTimeout = 8;

constexpr const char* environmentInterface = "dev.genv.Environment";
constexpr std::string_view unknownObject = "org.freedesktop.DBus.Error.UnknownObject";
// The error of the bus if the service ends before it replies. A timeout has another name.
constexpr std::string_view noReply = "org.freedesktop.DBus.Error.NoReply";

void requireAppended(int result) {
    if (result < 0)
        throw SlurmJobError("the call could not be written");
}

// slurmd writes the output of a hook only to its debug log.
void logTrouble(std::string_view what) {
    const std::string line = shown(what);
    openlog("genv-slurm", LOG_PID, LOG_DAEMON);
    syslog(LOG_WARNING, "%s", line.c_str());
    printNote(what);
}

void appendUuids(sd_bus_message* call, const std::vector<std::string>& uuids) {
    requireAppended(sd_bus_message_open_container(call, 'e', "sv"));
    requireAppended(sd_bus_message_append(call, "s", "uuids"));
    requireAppended(sd_bus_message_open_container(call, 'v', "as"));
    requireAppended(sd_bus_message_open_container(call, 'a', "s"));
    for (const std::string& uuid : uuids)
        requireAppended(sd_bus_message_append(call, "s", uuid.c_str()));
    for (int level = 0; level < 3; ++level)
        requireAppended(sd_bus_message_close_container(call));
}

void appendRequest(sd_bus_message* call, const SlurmJob& job,
                   const std::vector<std::string>& uuids) {
    const std::string id = slurmEnvironment(job.id);
    const std::string number = std::to_string(job.id);
    requireAppended(sd_bus_message_open_container(call, 'a', "{sv}"));
    requireAppended(sd_bus_message_append(call, "{sv}{sv}{sv}{sv}", "id", "s", id.c_str(), "job",
                                          "s", number.c_str(), "uid", "u", job.uid, "evict", "b",
                                          1));
    appendUuids(call, uuids);
    if (job.end)
        requireAppended(sd_bus_message_append(
            call, "{sv}", "ends", "t",
            static_cast<std::uint64_t>(
                std::chrono::microseconds(std::chrono::seconds(*job.end)).count())));
    if (job.sluid)
        requireAppended(sd_bus_message_append(call, "{sv}", "sluid", "s", job.sluid->c_str()));
    requireAppended(sd_bus_message_close_container(call));
}

// Calls the service, and repeats the call if the service crashed meanwhile. The calls of hooks are
// idempotent.
template <typename Question>
void askAgainAfterCrash(const Question& ask) {
    try {
        ask();
    } catch (const CallFailed& error) {
        if (error.name() != noReply)
            throw;
        ask();
    }
}

void activate(const SlurmJob& job, const std::vector<std::string>& uuids) {
    const SystemBus bus(busTimeout);
    askAgainAfterCrash([&] {
        const auto call = bus.prepare(manager, "Activate", true);
        appendRequest(call.get(), job, uuids);
        static_cast<void>(bus.send(call));
    });
}

std::string environmentPath(const std::string& id) {
    char* path = nullptr;
    if (sd_bus_path_encode(dbus::contract::environmentPathPrefix, id.c_str(), &path) < 0)
        throw SlurmJobError("the path of the environment could not be written");
    const std::unique_ptr<char, decltype(&std::free)> owner(path, &std::free);
    return path;
}

void deactivate(std::uint32_t job) {
    const std::string path = environmentPath(slurmEnvironment(job));
    const SystemBus bus(busTimeout);
    const BusObject environment{dbus::contract::busName, path.c_str(), environmentInterface};
    try {
        askAgainAfterCrash(
            [&] { static_cast<void>(bus.call(environment, "Deactivate", nullptr, true)); });
    } catch (const CallFailed& error) {
        // The job had no environment, or the environment has already ended.
        if (error.name() != dbus::contract::error::noSuchEnvironment &&
            error.name() != unknownObject)
            throw;
    }
}

// Uses only functions that a signal handler may call. A hook that hangs must not delay the job.
void endInTime(int /*signal*/) {
    constexpr std::string_view line = "genvctl: genv did not answer in time; the job goes on\n";
    if (::write(STDERR_FILENO, line.data(), line.size()) < 0) {
        // There is no other place to report a failure.
    }
    ::_exit(EXIT_SUCCESS);
}

// Starts the timeout. A parent that blocks SIGALRM passes the blocked signal on, so it is unblocked
// first.
void boundTime() {
    ::signal(SIGALRM, endInTime);
    sigset_t alarm{};
    ::sigemptyset(&alarm);
    ::sigaddset(&alarm, SIGALRM);
    ::sigprocmask(SIG_UNBLOCK, &alarm, nullptr);
    ::alarm(hookTimeout);
}

} // namespace

std::filesystem::path slurmDeviceFile() {
    return std::filesystem::path(runtimeFolder()) / "slurm" / "devices";
}

void runSlurmProlog(const SlurmVariables& variables) {
    const auto job = readSlurmJob(variables);
    if (!job)
        return;
    try {
        activate(*job, uuidsOf(*job, readSlurmDevices(slurmDeviceFile())));
    } catch (const std::exception& error) {
        throw SlurmJobError(
            fmt::format("Slurm job {} has no environment: {}", job->id, error.what()));
    }
}

void runSlurmEpilog(const SlurmVariables& variables) {
    const std::uint32_t job = readSlurmJobId(variables);
    try {
        deactivate(job);
    } catch (const std::exception& error) {
        throw SlurmJobError(
            fmt::format("the environment of Slurm job {} was not ended: {}", job, error.what()));
    }
}

void runSlurmTaskProlog(const SlurmVariables& variables) {
    const auto isSet = [&](const char* name) {
        const char* value = variables(name);
        return value != nullptr && *value != '\0';
    };
    const char* number = variables("SLURM_JOB_ID");
    const auto job = parseNumber(number != nullptr ? number : "");
    if (!job || (!isSet("SLURM_JOB_GPUS") && !isSet("SLURM_STEP_GPUS")))
        return;
    const std::string id = slurmEnvironment(*job);
    // This variable comes from the shell that submitted the job, whose prompt would set
    // CUDA_VISIBLE_DEVICES.
    std::string lines = "unset GENV_STATUS_FILE\n";
    lines += fmt::format("export GENV_ENVIRONMENT_ID={}\n", id);
    // The time stamp is the second word of the first line. Without it, the owner is identified by
    // the id alone.
    if (const auto first = firstStatusLine(id)) {
        const std::size_t begin = std::min(first->find(' '), first->size() - 1) + 1;
        const std::string_view stamp =
            std::string_view(*first).substr(begin, first->find(' ', begin) - begin);
        if (!stamp.empty() && stamp.find_first_not_of("0123456789") == std::string_view::npos)
            lines += fmt::format("export GENV_ENVIRONMENT_CREATED={}\n", stamp);
    }
    print(lines);
}

void runSlurmHook(const char* name, void (*hook)(const SlurmVariables&)) noexcept {
    boundTime();
    try {
        hook([](const char* variable) -> const char* { return std::getenv(variable); });
    } catch (const std::exception& error) {
        try {
            logTrouble(fmt::format("{}: {}", name, error.what()));
        } catch (const std::exception&) {
            // The job continues anyway.
        }
    }
}

} // namespace genv::ctl
