// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/processes/host_memory_files.hpp"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace genv::service {

namespace {

namespace fs = std::filesystem;

std::optional<std::uint64_t> toNumber(std::string_view text) {
    std::uint64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || stop == text.data())
        return std::nullopt;
    return number;
}

// Returns the first word of a file; empty if it cannot be read.
std::string firstWord(const fs::path& path) {
    std::string word;
    std::ifstream(path) >> word;
    return word;
}

// Returns the value of a key in lines of "key value", such as "MemTotal: 12 kB".
std::optional<std::uint64_t> valueOf(const fs::path& path, std::string_view key) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string name;
        std::string value;
        if (words >> name >> value && name == key)
            return toNumber(value);
    }
    return std::nullopt;
}

// Returns what a limited group may still take; nothing without a limit. Caches of files give way.
std::optional<core::Bytes> roomIn(const fs::path& group) {
    const auto max = toNumber(firstWord(group / "memory.max")); // "max" is no number
    const auto current = toNumber(firstWord(group / "memory.current"));
    if (!max || !current)
        return std::nullopt;
    const std::uint64_t caches = valueOf(group / "memory.stat", "inactive_file").value_or(0) +
                                 valueOf(group / "memory.stat", "active_file").value_or(0);
    const std::uint64_t used = *current - std::min(caches, *current);
    return core::Bytes{*max - std::min(used, *max)};
}

// Returns the group of a process in the unified hierarchy, as a path from its root.
fs::path groupOf(const fs::path& process) {
    std::ifstream file(process / "cgroup");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("0::/"))
            return fs::path(line.substr(3)).relative_path();
    }
    return {};
}

std::vector<core::LimitedGroup> limitedGroups(const HostMemoryRoots& roots,
                                              const fs::path& process) {
    std::vector<core::LimitedGroup> groups;
    for (fs::path group = groupOf(process); !group.empty(); group = group.parent_path()) {
        if (const auto room = roomIn(roots.cgroup / group))
            groups.push_back({'/' + group.string(), *room});
    }
    return groups;
}

std::optional<core::Bytes> residentMemory(const fs::path& process) {
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    if (!(std::ifstream(process / "statm") >> size >> resident))
        return std::nullopt;
    return core::Bytes{resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))};
}

} // namespace

core::HostMemoryReading readHostMemory(const HostMemoryRoots& roots,
                                       const std::vector<core::ProcessIdentity>& processes) {
    core::HostMemoryReading reading;
    const auto total = valueOf(roots.proc / "meminfo", "MemTotal:");
    const auto available = valueOf(roots.proc / "meminfo", "MemAvailable:");
    if (!total || !available) {
        reading.failure = "/proc/meminfo has no MemTotal or MemAvailable";
        return reading;
    }
    reading.total = core::Bytes{*total * 1024};
    reading.available = core::Bytes{*available * 1024};
    for (const core::ProcessIdentity& identity : processes) {
        const fs::path process = roots.proc / std::to_string(identity.pid);
        reading.groups[identity] = limitedGroups(roots, process);
        if (const auto resident = residentMemory(process))
            reading.resident[identity] = *resident;
    }
    return reading;
}

void HostMemoryFiles::read(const std::vector<core::ProcessIdentity>& processes,
                           std::function<void(const core::HostMemoryReading&)> answer) {
    if (!worker_)
        worker_.emplace("genvd-memory", post_);
    worker_->run<core::HostMemoryReading>(
        [roots = roots_, processes] { return readHostMemory(roots, processes); },
        [answer = std::move(answer)](const core::HostMemoryReading& reading) { answer(reading); });
}

} // namespace genv::service
