// SPDX-License-Identifier: LGPL-2.1-or-later
#include "bench/bus/threads.hpp"

#include <time.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace genv::bench {

namespace {

ThreadUse readThread(const std::filesystem::path& folder) {
    ThreadUse use;
    std::ifstream(folder / "comm") >> use.name;
    std::ifstream status(folder / "status");
    for (std::string word; status >> word;) {
        if (word == "voluntary_ctxt_switches:")
            status >> use.wakeUps;
    }
    std::chrono::nanoseconds::rep processor = 0;
    std::ifstream(folder / "schedstat") >> processor;
    use.processor = std::chrono::nanoseconds{processor};
    return use;
}

} // namespace

ThreadUses threadsOf(pid_t process) {
    ThreadUses uses;
    for (const auto& thread :
         std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task"))
        uses[std::stoi(thread.path().filename())] = readThread(thread.path());
    return uses;
}

ThreadUses between(const ThreadUses& before, const ThreadUses& after) {
    ThreadUses difference;
    for (const auto& [thread, use] : after) {
        const auto found = before.find(thread);
        if (found == before.end())
            continue;
        difference[thread] = {use.name, use.wakeUps - found->second.wakeUps,
                              use.processor - found->second.processor};
    }
    return difference;
}

std::chrono::nanoseconds processorTimeOf(pid_t process) {
    clockid_t clock{};
    timespec time{};
    if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0)
        throw std::runtime_error("the service is gone");
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

} // namespace genv::bench
