// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/processes/hung_processes.hpp"

#include "core/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace genv::service {

namespace {

// Returns whether a process that hung on one part also hangs on another. Facts and ancestors are
// read before the other parts, from files that wait for fewer locks.
bool includes(ProcPart hung, ProcPart part) {
    const auto isBasic = [](ProcPart each) {
        return each == ProcPart::Identity || each == ProcPart::Facts || each == ProcPart::Lineage;
    };
    return isBasic(hung) || !isBasic(part);
}

} // namespace

void HungProcesses::add(core::Pid pid, core::Uid uid, ProcPart part) {
    const std::lock_guard lock(mutex_);
    const auto known = hung_.find(pid);
    if (known != hung_.end() && !known->second.process.hasExited()) {
        known->second.part = part;
        known->second.when = Clock::now();
        return;
    }
    try {
        makeRoom(); // also where a process with this PID has exited
        hung_.emplace(pid, Hung{Pidfd::open(pid), uid, part, Clock::now()});
    } catch (const core::Error&) { // the process has exited, or no descriptor is free to hold it
        return;
    }
    listener_(fmt::format("process {} of uid {} cannot be read, since its entry in /proc does not "
                          "answer; it counts as outside every environment",
                          pid, uid));
}

bool HungProcesses::isHung(core::Pid pid, ProcPart part) {
    const std::lock_guard lock(mutex_);
    const auto known = hung_.find(pid);
    return known != hung_.end() && isLately(known->second, part);
}

std::size_t HungProcesses::hangsOf(core::Uid uid, ProcPart part) {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(
        std::count_if(hung_.begin(), hung_.end(), [&](const auto& entry) {
            return entry.second.uid == uid && isLately(entry.second, part);
        }));
}

bool HungProcesses::isEmpty() {
    const std::lock_guard lock(mutex_);
    return hung_.empty();
}

bool HungProcesses::isLately(const Hung& hung, ProcPart part) const {
    return includes(hung.part, part) && Clock::now() - hung.when < retry_ &&
           !hung.process.hasExited();
}

void HungProcesses::makeRoom() {
    std::erase_if(hung_, [](const auto& entry) { return entry.second.process.hasExited(); });
    if (hung_.size() < maxProcesses)
        return;
    hung_.erase(std::min_element(hung_.begin(), hung_.end(), [](const auto& a, const auto& b) {
        return a.second.when < b.second.when;
    }));
}

} // namespace genv::service
