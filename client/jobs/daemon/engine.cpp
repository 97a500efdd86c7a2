// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/engine.hpp"

#include "client/jobs/daemon/machine_check.hpp"
#include "client/jobs/daemon/submission_options.hpp"
#include "client/jobs/daemon/wall_clock.hpp"
#include "dbus/contract/messages_names.hpp"

#include <memory>
#include <utility>

namespace genv::jobs {

namespace {

using dbus::raw::Writer;

void writeAnswer(Writer& writer, JobNumber job, UserLingering::Note note) {
    writer.write(job);
    writer.array("{sv}", [&] {
        if (note == UserLingering::Note::Enabled)
            writer.property("lingering", std::string("enabled"));
        else if (note == UserLingering::Note::Refused)
            writer.property("lingering", std::string("refused"));
    });
}

} // namespace

Engine::Engine(JobStore& store, const Places& places, const TaskScheduler::Buses& buses,
               sd_event* loop, uid_t uid, const std::string& runner, TaskScheduler::Changed changed)
    : places_(places), changed_(std::move(changed)), book_(store),
      scheduler_(book_, store, places, buses, loop, uid, runner,
                 [this](const auto& added, const auto& modified) { onTurn(added, modified); }),
      lingering_(buses.system, uid, places.folder / "lingering"),
      housekeeping_(book_, scheduler_.submissions(), places, loop),
      sampler_(book_, scheduler_.service(), loop) {
    buses.user.watchName(dbus::contract::messagesBusName, [this](const std::string& owner) {
        tellsMessages_ = !owner.empty();
        endLingering();
    });
}

std::optional<JobState> Engine::stateOf(JobNumber number) const {
    const auto job = book_.jobs().find(number);
    return job == book_.jobs().end() ? std::nullopt : std::optional(jobs::stateOf(job->second));
}

void Engine::onTurn(const std::set<JobNumber>& added, const std::set<JobNumber>& changed) {
    housekeeping_.onChange();
    endLingering();
    sampler_.onChange();
    changed_(added, changed);
}

// While genv-notify-core runs, it ends lingering itself, after the messages about the last job.
void Engine::endLingering() {
    if (!book_.isUnfinished() && tellsMessages_ == false)
        lingering_.release();
}

void Engine::submit(Dictionary options, const JobReply& reply) {
    if (!scheduler_.hasManager())
        fail(JobErrorCode::NotSupported,
             "no user manager runs for you, and jobs need one: log in with ssh, or ask an "
             "administrator for \"loginctl enable-linger\"; in a container without systemd, use "
             "\"genvctl run --wait\"");
    const auto submission = std::make_shared<const Submission>(readSubmission(std::move(options)));
    const auto request = std::make_shared<const Dictionary>(decodeRequest(submission->request));
    scheduler_.service().listDevices(
        [this, submission, request, reply](const std::optional<std::vector<DeviceRow>>& devices) {
            reply.guarded([&] {
                if (devices)
                    requireDevices(*request, *devices);
                record(*submission, reply);
            });
        });
}

void Engine::record(const Submission& submission, const JobReply& reply) {
    housekeeping_.expectUnfinished();
    const JobNumber job = [&] {
        try {
            return book_.submit(submission, wallClock());
        } catch (...) {
            housekeeping_.onChange();
            throw;
        }
    }();
    lingering_.ensure([job, reply](UserLingering::Note note) {
        reply.send([&](Writer& writer) { writeAnswer(writer, job, note); });
    });
}

std::size_t Engine::cancel(JobNumber job, const Numbers& tasks) {
    return scheduler_.cancel(job, tasks);
}

std::size_t Engine::hold(JobNumber job, const Numbers& tasks) {
    return scheduler_.hold(job, tasks);
}

std::size_t Engine::release(JobNumber job, const Numbers& tasks) {
    return scheduler_.release(job, tasks);
}

std::size_t Engine::requeue(JobNumber job, const Numbers& tasks) {
    static_cast<void>(book_.job(job));
    housekeeping_.expectUnfinished();
    return scheduler_.requeue(job, tasks);
}

WaitingFacts Engine::factsWith(RequestWaits queue) const {
    WaitingFacts facts;
    facts.hasManager = scheduler_.hasManager();
    facts.hasService = scheduler_.hasService();
    for (const TaskName& task : scheduler_.requests().tasks())
        facts.requests[task] = scheduler_.requests().environmentOf(task);
    facts.delayed = scheduler_.requests().delayed();
    facts.queue = std::move(queue);
    facts.now = wallClock();
    return facts;
}

void Engine::describe(const JobReply& reply, Describe describe) {
    const auto answer = [this, reply, describe = std::move(describe)](const RequestWaits& queue) {
        reply.guarded([&] {
            const WaitingFacts facts = factsWith(queue);
            const Descriptions descriptions(book_, scheduler_.submissions(), places_, facts);
            reply.send([&](Writer& writer) { describe(descriptions, writer); });
        });
    };
    if (book_.isUnfinished())
        scheduler_.service().describeQueue(answer);
    else
        answer({});
}

} // namespace genv::jobs
