// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/model/slurm_cgroup.hpp"

#include "core/model/slurm_job.hpp"

#include <algorithm>
#include <charconv>

namespace genv::core {

namespace {

// Removes the text up to a separator, including the separator, and returns it without the
// separator.
std::string_view takeUntil(std::string_view& text, char separator) {
    const std::size_t end = text.find(separator);
    const std::string_view taken = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return taken;
}

bool takePrefix(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix))
        return false;
    text.remove_prefix(prefix.size());
    return true;
}

bool isNodeName(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.';
    });
}

// Returns whether this is "slurmstepd.scope", or a node's name and "_slurmstepd.scope" if a machine
// has several nodes.
bool isScope(std::string_view part) {
    constexpr std::string_view scope = "slurmstepd.scope";
    if (!part.ends_with(scope))
        return false;
    part.remove_suffix(scope.size());
    return part.empty() || (part.ends_with('_') && isNodeName(part.substr(0, part.size() - 1)));
}

// Returns whether this is "slurm", or "slurm_" and a node's name.
bool isRootGroup(std::string_view part) {
    return takePrefix(part, "slurm") &&
           (part.empty() || (takePrefix(part, "_") && isNodeName(part)));
}

std::optional<SlurmJobId> jobOf(std::string_view part) {
    return takePrefix(part, "job_") ? parseSlurmJobId(part) : std::nullopt;
}

std::optional<SlurmJobName> nameOf(std::string_view part) {
    if (const auto sluid = parseSluid(part))
        return *sluid;
    return jobOf(part);
}

std::optional<Uid> ownerOf(std::string_view part) {
    Uid uid = 0;
    if (!takePrefix(part, "uid_"))
        return std::nullopt;
    const char* end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data(), end, uid);
    return error == std::errc{} && stop == end ? std::optional(uid) : std::nullopt;
}

// Parses a path of version 2, whose line has no controllers.
std::optional<SlurmCgroup> parseUnified(std::string_view path) {
    if (!takePrefix(path, "/") || takeUntil(path, '/') != "system.slice" ||
        !isScope(takeUntil(path, '/')))
        return std::nullopt;
    const auto job = nameOf(takeUntil(path, '/'));
    return job ? std::optional(SlurmCgroup{*job, std::nullopt}) : std::nullopt;
}

// Parses a path of version 1.
std::optional<SlurmCgroup> parseLegacy(std::string_view path) {
    if (!takePrefix(path, "/") || !isRootGroup(takeUntil(path, '/')))
        return std::nullopt;
    const auto owner = ownerOf(takeUntil(path, '/'));
    const auto job = jobOf(takeUntil(path, '/'));
    return owner && job ? std::optional(SlurmCgroup{*job, owner}) : std::nullopt;
}

bool isSlurmsHierarchy(std::string_view controllers) {
    while (!controllers.empty()) {
        const std::string_view controller = takeUntil(controllers, ',');
        if (controller == "freezer" || controller == "devices")
            return true;
    }
    return false;
}

// Parses a line: HIERARCHY:CONTROLLERS:PATH; the path may contain colons.
std::optional<SlurmCgroup> parseLine(std::string_view line) {
    const std::string_view hierarchy = takeUntil(line, ':');
    const std::string_view controllers = takeUntil(line, ':');
    if (hierarchy == "0" && controllers.empty())
        return parseUnified(line);
    return isSlurmsHierarchy(controllers) ? parseLegacy(line) : std::nullopt;
}

} // namespace

std::optional<SlurmCgroup> parseSlurmCgroup(std::string_view text) {
    std::optional<SlurmCgroup> found;
    while (!text.empty()) {
        const auto cgroup = parseLine(takeUntil(text, '\n'));
        if (!cgroup)
            continue;
        if (found && found->job != cgroup->job)
            return std::nullopt;
        if (!found || cgroup->owner)
            found = cgroup;
    }
    return found;
}

} // namespace genv::core
