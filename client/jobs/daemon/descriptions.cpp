// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/descriptions.hpp"

#include "client/jobs/daemon/request.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace genv::jobs {

namespace {

using dbus::raw::Writer;

constexpr std::chrono::hours recently{24};

std::uint64_t timeOf(const std::optional<core::WallTime>& time) {
    return time ? core::toMicroseconds(*time) : 0;
}

std::uint32_t narrow(std::size_t count) {
    return static_cast<std::uint32_t>(count);
}

void writeBytes(Writer& writer, const char* name, const std::string& text) {
    writer.property(name, "ay", [&] { writer.writeBytes(text); });
}

template <typename Value>
bool writeIfIs(Writer& writer, const std::string& name, const sdbus::Variant& value) {
    if (!value.containsValueOfType<Value>())
        return false;
    writer.property(name, value.get<Value>());
    return true;
}

template <typename... Values>
void writeAs(Writer& writer, const std::string& name, const sdbus::Variant& value) {
    static_cast<void>((writeIfIs<Values>(writer, name, value) || ...));
}

void writeRequest(Writer& writer, const Dictionary& request) {
    writer.property("request", "a{sv}", [&] {
        writer.array("{sv}", [&] {
            for (const auto& [name, value] : request)
                writeAs<bool, std::uint32_t, std::uint64_t, std::string, std::vector<std::uint32_t>,
                        std::vector<std::string>>(writer, name, value);
        });
    });
}

const char* wordOf(Condition condition) {
    switch (condition) {
    case Condition::Ok:
        return "ok";
    case Condition::Fail:
        return "fail";
    case Condition::Any:
        break;
    }
    return "any";
}

void writeAfter(Writer& writer, const std::vector<Dependency>& after) {
    writer.property("after", "a(us)", [&] {
        writer.array("(us)", [&] {
            for (const Dependency& dependency : after) {
                writer.structure("us", [&] {
                    writer.write(dependency.job);
                    writer.write(wordOf(dependency.condition));
                });
            }
        });
    });
}

void writePlan(Writer& writer, const Plan& plan) {
    writeAfter(writer, plan.after);
    writer.property("retries", plan.retries);
    writer.property("priority", plan.priority);
    writer.property("begin", timeOf(plan.begin));
    writer.property("parallel", plan.parallel);
}

void writeSubmission(Writer& writer, const Submission& submission) {
    writer.property("command-words", "aay", [&] {
        writer.array("ay", [&] {
            for (const std::string& word : submission.command)
                writer.writeBytes(word);
        });
    });
    writeBytes(writer, "folder", submission.folder);
    writeBytes(writer, "output", submission.output);
    writeRequest(writer, decodeRequest(submission.request));
    writer.property("cpus", submission.cpus);
    writer.property("memory", submission.memoryBytes);
}

void writeProgress(Writer& writer, const Progress& progress) {
    writer.property("waiting", narrow(progress.waiting + progress.held));
    writer.property("running", narrow(progress.running));
    writer.property("done", narrow(progress.done));
    writer.property("failed", narrow(progress.failed + progress.lost));
    writer.property("canceled", narrow(progress.canceled));
}

} // namespace

void Descriptions::list(Writer& writer, bool all) const {
    writer.array("a{sv}", [&] {
        for (const auto& entry : book_.jobs()) {
            const Job& job = entry.second;
            const auto end = all ? std::nullopt : endOf(job);
            if (!end || *end > facts_.now - recently)
                writer.array("{sv}", [&] { writeJob(writer, job); });
        }
    });
}

void Descriptions::describe(Writer& writer, JobNumber number) const {
    const Job& job = book_.job(number);
    const Submission& submission = submissions_.get(number);
    writer.array("{sv}", [&] {
        writeJob(writer, job);
        writePlan(writer, job.plan);
        writeSubmission(writer, submission);
    });
}

void Descriptions::listTasks(Writer& writer, JobNumber number,
                             std::span<const std::uint32_t> numbers) const {
    const Job& job = book_.job(number);
    writer.array("a{sv}", [&] {
        if (numbers.empty()) {
            for (const Task& task : job.tasks)
                writer.array("{sv}", [&] { writeTask(writer, job, task); });
        }
        for (const std::uint32_t each : numbers)
            writer.array("{sv}", [&] { writeTask(writer, job, book_.task({number, each})); });
    });
}

void Descriptions::writeJob(Writer& writer, const Job& job) const {
    writer.property("number", job.number);
    writer.property("name", job.name);
    writer.property("state", std::string(jobs::wordOf(stateOf(job))));
    writer.property("reason", reasonOf(book_, job, facts_));
    writer.property("expected", timeOf(expectedStart(job, facts_)));
    writer.property("command", job.command);
    writer.property("gpus", job.gpus);
    writer.property("tasks", narrow(job.tasks.size()));
    writeProgress(writer, job.progress);
    writer.property("array", job.isArray);
    writer.property("submitted", core::toMicroseconds(job.submitted));
    writer.property("started", timeOf(startOf(job)));
    writer.property("ended", timeOf(endOf(job)));
    writer.property("status", std::int32_t{statusOf(job).value_or(-1)});
}

void Descriptions::writeTask(Writer& writer, const Job& job, const Task& task) const {
    const TaskName name{job.number, task.number};
    const TaskRecord& record = task.record();
    const auto request = facts_.requests.find(name);
    writer.property("number", task.number);
    writeBytes(writer, "value", job.isArray ? submissions_.value(name) : std::string());
    writer.property("state", std::string(jobs::wordOf(stateOf(task))));
    writer.property("reason", reasonOf(book_, name, facts_));
    writer.property("attempts", task.attempts);
    writer.property("environment",
                    request == facts_.requests.end() ? record.last.environment : request->second);
    writer.property("devices", record.last.devices);
    writer.property("started", timeOf(record.last.started));
    writer.property("ended", timeOf(record.ended));
    writer.property("status", std::int32_t{statusOf(task).value_or(-1)});
    writer.property("signal", std::int32_t{record.last.signal});
    writer.property("gpu-seconds", static_cast<std::uint64_t>(record.gpuTime.count()));
    writer.property("peak-memory", record.peakMemoryBytes);
    writeBytes(writer, "log", submissions_.outputOf(name, places_));
}

} // namespace genv::jobs
