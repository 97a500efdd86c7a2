// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/model/job.hpp"

namespace genv::jobs {

const TaskRecord& Task::record() const {
    static const TaskRecord none;
    return record_ ? *record_ : none;
}

void Task::setRecord(TaskRecord record) {
    record_ = std::make_shared<const TaskRecord>(std::move(record));
}

bool Task::operator==(const Task& other) const {
    return number == other.number && state == other.state && wish == other.wish &&
           held == other.held && attempts == other.attempts && lastAttempt == other.lastAttempt &&
           failures == other.failures && record() == other.record();
}

} // namespace genv::jobs
