// SPDX-License-Identifier: LGPL-2.1-or-later
#include "bench/bus/one_processor.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace genv::bench {

namespace {

// Threads that end meanwhile need not be pinned.
void pin(pid_t process, const cpu_set_t& processors) {
    std::error_code gone;
    for (const auto& thread :
         std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", gone))
        ::sched_setaffinity(std::stoi(thread.path().filename()), sizeof(processors), &processors);
}

} // namespace

OneProcessor::OneProcessor(std::vector<pid_t> processes) : processes_(std::move(processes)) {
    processes_.push_back(::getpid());
    ::sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
    for (const pid_t process : processes_)
        pin(process, one);
}

OneProcessor::~OneProcessor() {
    for (const pid_t process : processes_)
        pin(process, before_);
}

std::vector<pid_t> daemons() {
    std::vector<pid_t> found;
    const std::filesystem::path folder = std::getenv("GENV_PRIVATE_BUS");
    for (const char* daemon : {"bus.pid", "polkitd.pid"}) {
        pid_t pid = 0;
        if (std::ifstream(folder / daemon) >> pid)
            found.push_back(pid);
    }
    return found;
}

} // namespace genv::bench
