// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-job ATTEMPT: runs one attempt of a task, as the main process of a transient unit of its
// user's manager. genv-jobs has written what to run (files/attempt.hpp). This process joins the
// environment that genv-jobs holds, makes the start mark, runs the command as its child, and writes
// how it ended. The environment ends with this process.
//
// What goes to standard error is in the journal. It names the job, never its command.
#include "client/genvctl/shell/status_file.hpp"
#include "client/jobs/files/attempt.hpp"
#include "client/jobs/files/places.hpp"
#include "client/jobs/model/error.hpp"
#include "client/jobs/runner/command.hpp"
#include "client/jobs/runner/memory.hpp"
#include "client/jobs/runner/output.hpp"
#include "client/jobs/runner/supervision.hpp"
#include "client/jobs/runner/surroundings.hpp"
#include "core/text.hpp"
#include "dbus/contract/names.hpp"
#include "genv/client.hpp"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

using namespace genv::jobs;

// A restart of genvd, as in an upgrade, takes less.
constexpr std::chrono::seconds joinTimeout{30};
constexpr std::chrono::seconds writeTimeout{60};

void complain(const std::string& text) {
    const std::string line = fmt::format("genv-job: {}\n", genv::core::printable(text));
    genv::client::writeAll(STDERR_FILENO, line);
}

/// What is needed of the environment once this process has left the bus.
struct Joined {
    std::string statusFile; ///< empty if genvd writes none
    std::uint64_t seen = 0;
    std::uint64_t start = 0;
};

Joined joinOnce(const AttemptName& attempt, const AttemptOrder& order) {
    genv::Client client;
    client.addProcess(order.environmentId, static_cast<std::uint32_t>(::getpid()));
    const auto file = genv::ctl::statusFile(order.environmentId);
    const auto line = genv::ctl::firstStatusLine(order.environmentId);
    setVariables(client, attempt, order);
    if (!file || !line)
        return {};
    const genv::watch::Status status(*line);
    return {*file, status.sequence(), status.start()};
}

// Registers this process in the environment and takes its variables.
Joined join(const AttemptName& attempt, const AttemptOrder& order) {
    const auto deadline = std::chrono::steady_clock::now() + joinTimeout;
    for (;;) {
        try {
            return joinOnce(attempt, order);
        } catch (const genv::ServiceUnavailable&) {
            if (std::chrono::steady_clock::now() >= deadline)
                throw;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
}

// The variables are those of the command by now.
void notifyReady(const std::string& socket) {
    if (socket.empty())
        return;
    const char* const commands = std::getenv("NOTIFY_SOCKET");
    const std::optional<std::string> kept =
        commands != nullptr ? std::optional<std::string>(commands) : std::nullopt;
    ::setenv("NOTIFY_SOCKET", socket.c_str(), 1);
    ::sd_notify(0, "READY=1");
    if (kept)
        ::setenv("NOTIFY_SOCKET", kept->c_str(), 1);
    else
        ::unsetenv("NOTIFY_SOCKET");
}

Ending endingOf(const NotRun& failure) {
    return {failure.status, 0, failure.reason, {}};
}

Ending stoppedEnding() {
    return {-1, 0, "its unit was stopped, as at a shutdown or a logout", {}};
}

Ending endingOf(Supervised result) {
    Ending ending{result.status, result.signal, {}, {}};
    const bool failed = !ending.isSuccess();
    if (failed && hasRunOutOfMemory(ownControlGroup()))
        ending.reason = "the job used more memory than its --memory allows";
    else if (failed && result.wasStopped)
        return stoppedEnding();
    else if (result.signal != 0)
        ending.reason = std::move(result.notice);
    return ending;
}

Ending runCommand(const AttemptName& attempt, const AttemptOrder& order, const Joined& joined) {
    Output output({order.output, order.outputIsLog, order.umask});
    if (const auto reason = output.open())
        return {126, 0, *reason, {}};
    if (attempt.attempt > 1)
        output.noteAttempt(attempt.attempt);
    if (wasStoppedBefore())
        return stoppedEnding();
    auto started = startCommand(order);
    if (const NotRun* failure = std::get_if<NotRun>(&started)) {
        output.note(failure->reason);
        return endingOf(*failure);
    }
    std::optional<genv::watch::StatusWatch> watch;
    if (!joined.statusFile.empty())
        watch.emplace(joined.statusFile.c_str(), order.environmentId, joined.seen, joined.start);
    return endingOf(superviseCommand(std::get<RunningCommand>(std::move(started)), output,
                                     watch ? &*watch : nullptr));
}

// A disk may be full even for what was reserved, and have space again soon.
void writeEnding(const AttemptFiles& files, const AttemptName& attempt, const Ending& ending) {
    const auto deadline = std::chrono::steady_clock::now() + writeTimeout;
    for (;;) {
        try {
            files.writeEnding(attempt, ending);
            return;
        } catch (const Error&) {
            if (std::chrono::steady_clock::now() >= deadline)
                throw;
        }
        std::this_thread::sleep_for(std::chrono::seconds(1));
    }
}

/// Returns the exit status of this program, which says whether the attempt ran.
int run(const AttemptName& attempt) {
    const AttemptFiles files(places().attempts);
    const char* const notify = std::getenv("NOTIFY_SOCKET");
    const std::string socket = notify != nullptr ? notify : "";
    auto order = files.read(attempt);
    if (!order) {
        complain(fmt::format("there is no attempt {} to run", textOf(attempt)));
        return EXIT_FAILURE;
    }
    files.reserveEnding(attempt);
    const Joined joined = join(attempt, *order);
    blockSignals();
    order = files.claim(attempt);
    if (!order) {
        complain(fmt::format("attempt {} was revoked", textOf(attempt)));
        return EXIT_FAILURE;
    }
    notifyReady(socket);
    Ending ending = runCommand(attempt, *order, joined);
    ending.at =
        std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
    writeEnding(files, attempt, ending);
    return EXIT_SUCCESS;
}

} // namespace

int main(int count, char** arguments) {
    const auto attempt = count == 2 ? parseAttemptName(arguments[1]) : std::nullopt;
    if (!attempt) {
        complain("expected the name of an attempt, such as 17.3.1: genv-jobs starts this program");
        return 2;
    }
    try {
        return run(*attempt);
    } catch (const std::exception& error) {
        complain(fmt::format("attempt {}: {}", textOf(*attempt), error.what()));
        return EXIT_FAILURE;
    }
}
