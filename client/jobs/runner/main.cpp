// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-job ATTEMPT: runs one attempt of a task, as the main process of a transient unit of its
// user's manager. It waits until genv-jobs has an environment for this process (files/channel.hpp)
// and has written what to run (files/attempt.hpp). Then it makes the start mark, runs the command
// as its child, and writes how it ended. The environment ends with this process.
//
// What goes to standard error is in the journal. It names the job, never its command.
#include "client/descriptor_functions.hpp"
#include "client/genvctl/shell/status_file.hpp"
#include "client/jobs/files/attempt.hpp"
#include "client/jobs/files/places.hpp"
#include "client/jobs/files/runner_channel.hpp"
#include "client/jobs/model/job_error.hpp"
#include "client/jobs/runner/attempt_command.hpp"
#include "client/jobs/runner/attempt_output.hpp"
#include "client/jobs/runner/memory.hpp"
#include "client/jobs/runner/supervision.hpp"
#include "client/jobs/runner/surroundings.hpp"
#include "core/base/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace {

using namespace genv::jobs;

constexpr std::chrono::seconds writeTimeout{60};

void complain(const std::string& text) {
    const std::string line = fmt::format("genv-job: {}\n", genv::core::printable(text));
    genv::client::writeAll(STDERR_FILENO, line);
}

/// The state of the environment's status file before the start.
struct Seen {
    std::uint64_t sequence = 0;
    std::uint64_t start = 0; ///< of the environment; 0 if it has ended
};

// Nothing, if genvd writes no such file.
std::optional<Seen> readStatus(const AttemptOrder& order) {
    if (order.statusFile.empty())
        return std::nullopt;
    const std::string line = genv::ctl::firstLineOf(order.statusFile).value_or("");
    const genv::watch::Status status(line);
    return Seen{status.sequence(), status.start()};
}

AttemptEnding endingOf(const NotRun& failure) {
    return {failure.status, 0, failure.reason, {}};
}

AttemptEnding stoppedEnding() {
    return {-1, 0, "its unit was stopped, as at a shutdown or a logout", {}};
}

AttemptEnding endingOf(Supervised result) {
    AttemptEnding ending{result.status, result.signal, {}, {}};
    const bool failed = !ending.isSuccess();
    if (failed && hasRunOutOfMemory(ownControlGroup()))
        ending.reason = "the job used more memory than its --memory allows";
    else if (failed && result.wasStopped)
        return stoppedEnding();
    else if (result.signal != 0)
        ending.reason = std::move(result.notice);
    return ending;
}

AttemptEnding runCommand(const AttemptName& attempt, const AttemptOrder& order,
                         const std::optional<Seen>& seen) {
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
    if (seen)
        watch.emplace(order.statusFile.c_str(), order.environmentId, seen->sequence, seen->start);
    return endingOf(superviseCommand(std::get<RunningCommand>(std::move(started)), output,
                                     watch ? &*watch : nullptr));
}

// A disk may be full even for what was reserved, and have space again soon.
void writeEnding(const AttemptFiles& files, const AttemptName& attempt,
                 const AttemptEnding& ending) {
    const auto deadline = std::chrono::steady_clock::now() + writeTimeout;
    for (;;) {
        try {
            files.writeEnding(attempt, ending);
            return;
        } catch (const JobError&) {
            if (std::chrono::steady_clock::now() >= deadline)
                throw;
        }
        std::this_thread::sleep_for(std::chrono::seconds(1));
    }
}

// The command must not get the socket.
RunnerChannel takeChannel() {
    genv::client::Descriptor socket(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    ::close(STDIN_FILENO);
    genv::client::openStandardDescriptors();
    return RunnerChannel(std::move(socket));
}

/// Returns the exit status of this program, which says whether the attempt ran.
int run(const AttemptName& attempt) {
    const AttemptFiles files(places().attempts);
    const RunnerChannel channel = takeChannel();
    if (!channel.isSocket())
        throw std::runtime_error("standard input is not a socket: genv-jobs starts this program");
    if (!channel.send(RunnerWord::Ready) || channel.receive().word != RunnerWord::Start)
        return EXIT_SUCCESS; // it is not needed any more
    auto order = files.read(attempt);
    if (!order) {
        complain(fmt::format("there is no attempt {} to run", textOf(attempt)));
        return EXIT_FAILURE;
    }
    files.reserveEnding(attempt);
    const std::optional<Seen> seen = readStatus(*order);
    if (seen && seen->start == 0)
        throw std::runtime_error("its environment has ended");
    setVariables(*order);
    blockSignals();
    order = files.claim(attempt);
    if (!order) {
        complain(fmt::format("attempt {} was revoked", textOf(attempt)));
        return EXIT_FAILURE;
    }
    static_cast<void>(channel.send(RunnerWord::Started)); // a later genv-jobs sees the mark itself
    AttemptEnding ending = runCommand(attempt, *order, seen);
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
