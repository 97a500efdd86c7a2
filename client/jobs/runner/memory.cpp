// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/runner/memory.hpp"

#include "client/descriptor_functions.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>

namespace genv::jobs {

namespace {

// These files of the kernel are short.
std::string textOf(const std::filesystem::path& file) {
    const client::Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 8192> buffer{};
    const ssize_t count =
        opened.isOpen() ? ::read(opened.get(), buffer.data(), buffer.size()) : ssize_t{-1};
    return {buffer.data(), static_cast<std::size_t>(count > 0 ? count : 0)};
}

// Returns the rest of the first line that begins with this word.
std::string_view afterWord(std::string_view text, std::string_view word) {
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        if (line.starts_with(word))
            return line.substr(word.size());
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return {};
}

} // namespace

std::filesystem::path ownControlGroup() {
    const std::string own = textOf("/proc/self/cgroup");
    const std::string_view path = afterWord(own, "0::");
    if (path.empty())
        return {};
    std::filesystem::path top = "/sys/fs/cgroup";
    if (std::error_code error; std::filesystem::exists(top / "unified/cgroup.procs", error))
        top /= "unified";
    return top += path;
}

bool hasRunOutOfMemory(const std::filesystem::path& group) {
    if (group.empty())
        return false;
    const std::string events = textOf(group / "memory.events");
    const std::string_view count = afterWord(events, "oom_kill ");
    return !count.empty() && count != "0";
}

} // namespace genv::jobs
