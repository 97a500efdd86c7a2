// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/slurm/hooks.hpp"

#include "client/genvctl/common/system_bus.hpp"
#include "client/genvctl/shell/status_file.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "dbus/contract/raw_bus.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <syslog.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

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

// slurmd writes the output of a hook only to its debug log.
void logTrouble(std::string_view what) {
    const std::string line = shown(what);
    openlog("genv-slurm", LOG_PID, LOG_DAEMON);
    syslog(LOG_WARNING, "%s", line.c_str());
    printNote(what);
}

std::map<std::string, sdbus::Variant> requestOf(const HookJob& job,
                                                const std::vector<std::string>& uuids) {
    std::map<std::string, sdbus::Variant> request{
        {"id", sdbus::Variant(slurmEnvironment(job.id))},
        {"job", sdbus::Variant(std::to_string(job.id))},
        {"uid", sdbus::Variant(job.uid)},
        {"evict", sdbus::Variant(true)},
        {"uuids", sdbus::Variant(uuids)},
    };
    if (job.end)
        request.emplace("ends",
                        sdbus::Variant(static_cast<std::uint64_t>(
                            std::chrono::microseconds(std::chrono::seconds(*job.end)).count())));
    if (job.sluid)
        request.emplace("sluid", sdbus::Variant(*job.sluid));
    return request;
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

void activate(const HookJob& job, const std::vector<std::string>& uuids) {
    const SystemBus bus(busTimeout);
    BusObject service = manager;
    service.startsService = true;
    askAgainAfterCrash([&] { bus.call(service, "Activate", requestOf(job, uuids)); });
}

void deactivate(std::uint32_t job) {
    const std::string path =
        dbus::raw::encodePath(dbus::contract::environmentPathPrefix, slurmEnvironment(job));
    const SystemBus bus(busTimeout);
    const BusObject environment{dbus::contract::busName, path.c_str(), environmentInterface, true};
    try {
        askAgainAfterCrash([&] { bus.call(environment, "Deactivate"); });
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
