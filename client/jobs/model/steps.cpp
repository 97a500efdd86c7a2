// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/model/steps.hpp"

#include <algorithm>

namespace genv::jobs::steps {

namespace {

// The wall clock may have been set back meanwhile.
std::chrono::seconds gpuTimeOf(const Attempt& attempt, core::WallTime end) {
    const auto held = std::chrono::duration_cast<std::chrono::seconds>(end - *attempt.granted);
    return std::max(held, std::chrono::seconds{0}) *
           static_cast<std::chrono::seconds::rep>(attempt.devices.size());
}

Task finish(Task task, TaskState state, TaskRecord record, core::WallTime at) {
    task.state = state;
    task.wish = Wish::None;
    task.held = false;
    record.ended = at;
    task.setRecord(std::move(record));
    return task;
}

} // namespace

Task begun(Task task, const std::string& environment, const std::vector<std::string>& devices,
           core::WallTime now) {
    TaskRecord record = task.record();
    record.last = Attempt{};
    record.last.environment = environment;
    record.last.devices = devices;
    record.last.granted = now;
    record.reason.clear();
    task.state = TaskState::Starting;
    ++task.lastAttempt;
    task.setRecord(std::move(record));
    return task;
}

Task started(Task task, core::WallTime at) {
    TaskRecord record = task.record();
    record.last.started = at;
    task.state = TaskState::Running;
    ++task.attempts;
    task.setRecord(std::move(record));
    return task;
}

Task notStarted(Task task, core::WallTime now) {
    TaskRecord record = task.record();
    record.last.environment.clear();
    record.last.ended = now;
    if (task.wish == Wish::Cancel)
        return finish(std::move(task), TaskState::Canceled, std::move(record), now);
    task.setRecord(std::move(record));
    if (task.wish == Wish::Requeue)
        return requeued(std::move(task));
    task.state = TaskState::Waiting;
    return task;
}

Task ended(Task task, const AttemptEnding& ending, std::uint32_t retries) {
    if (task.state == TaskState::Starting) // its start mark was not seen
        ++task.attempts;
    TaskRecord record = task.record();
    record.gpuTime += gpuTimeOf(record.last, ending.at);
    record.last.environment.clear();
    record.last.ended = ending.at;
    record.last.status = ending.status;
    record.last.signal = ending.signal;
    record.reason = ending.reason;
    if (task.wish == Wish::Cancel)
        return finish(std::move(task), TaskState::Canceled, std::move(record), ending.at);
    if (task.wish == Wish::Requeue) {
        task.setRecord(std::move(record));
        return requeued(std::move(task));
    }
    if (ending.isSuccess())
        return finish(std::move(task), TaskState::Done, std::move(record), ending.at);
    if (++task.failures > retries)
        return finish(std::move(task), ending.isLost() ? TaskState::Lost : TaskState::Failed,
                      std::move(record), ending.at);
    task.state = TaskState::Waiting;
    task.setRecord(std::move(record));
    return task;
}

Task refused(Task task, const std::string& reason, core::WallTime now) {
    TaskRecord record = task.record();
    record.reason = reason;
    return finish(std::move(task), TaskState::Failed, std::move(record), now);
}

Task canceled(Task task, const std::string& reason, core::WallTime now) {
    TaskRecord record = task.record();
    record.reason = reason;
    return finish(std::move(task), TaskState::Canceled, std::move(record), now);
}

void cancelAll(std::vector<Task>& tasks, const std::string& reason, core::WallTime now) {
    const Task* fresh = nullptr;
    for (Task& task : tasks) {
        const bool hasRecord = task.record() != TaskRecord{};
        const Task result = canceled(task, reason, now);
        task = result;
        if (!hasRecord && fresh != nullptr)
            task.shareRecord(*fresh);
        else if (!hasRecord)
            fresh = &task;
    }
}

Task requeued(Task task) {
    TaskRecord record = task.record();
    record.ended.reset();
    record.reason.clear();
    task.state = TaskState::Waiting;
    task.wish = Wish::None;
    task.failures = 0;
    task.setRecord(std::move(record));
    return task;
}

} // namespace genv::jobs::steps
