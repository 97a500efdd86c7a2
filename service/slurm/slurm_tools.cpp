// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/slurm/slurm_tools.hpp"

#include "core/base/text.hpp"
#include "core/model/slurm_job.hpp"
#include "core/sentences/sentences.hpp"
#include "service/slurm/gres_list.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace genv::service {

namespace {

// Returns a reason as one readable line, short enough for the protocol.
core::SlurmFailure failureOf(std::string_view text) {
    constexpr std::size_t escapes = 4; // at worst \xNN for each byte
    std::string reason = core::printable(text.substr(0, maxSlurmReason));
    if (reason.size() > maxSlurmReason)
        reason = core::printable(text.substr(0, maxSlurmReason / escapes));
    return {std::move(reason)};
}

std::string_view lastLine(std::string_view text) {
    while (text.ends_with('\n'))
        text.remove_suffix(1);
    const std::size_t begin = text.rfind('\n');
    return begin == std::string_view::npos ? text : text.substr(begin + 1);
}

std::string_view lineBefore(std::string_view line, std::string_view text) {
    return lastLine(text.substr(0, static_cast<std::size_t>(line.data() - text.data())));
}

// Returns the reason why slurmd failed, or an empty text. The last line of its output gives no
// reason, and the line about its log always appears here, because slurmd cannot write to its log.
std::string_view causeIn(std::string_view output) {
    const std::string_view last = lastLine(output);
    std::string_view cause = last;
    if (last.ends_with("slurmd initialization failed"))
        cause = lineBefore(last, output);
    if (cause.find("Unable to open logfile") != std::string_view::npos)
        cause = lineBefore(cause, output);
    return cause.empty() && last.ends_with("slurmd initialization failed") ? last : cause;
}

// Messages that slurmd writes only to its log are lost. This mainly concerns its plugin for cgroup
// v2, which works here once slurmd has created the control group of the jobs.
std::string listingFailure(const SlurmProgramResult& result) {
    const std::string_view cause = causeIn(result.output);
    if (cause.empty())
        return fmt::format(
            "slurmd -G exited with status {} without a reason; it may need a running slurmd",
            result.status);
    return fmt::format("slurmd -G failed: {}", cause);
}

// Judges a command that prints nothing on success.
SlurmAnswer judgeChange(const char* program, const SlurmProgramResult& result) {
    const std::string_view line = lastLine(result.output);
    if (result.status == 0 && line.empty())
        return SlurmDone{};
    if (line.empty())
        return failureOf(fmt::format("{} exited with status {}", program, result.status));
    return failureOf(fmt::format("{} said: {}", program, line));
}

// Returns the value of a field in a line such as "JobId=12 ... EndTime=1795574158 ...".
std::optional<std::string_view> fieldIn(std::string_view line, std::string_view key) {
    const std::size_t found = line.find(key);
    if (found == std::string_view::npos)
        return std::nullopt;
    line.remove_prefix(found + key.size());
    return line.substr(0, line.find_first_of(" \n"));
}

SlurmAnswer judgeListing(const SlurmProgramResult& result, const NodeLookup& lookUp) {
    if (result.status != 0)
        return failureOf(listingFailure(result));
    std::vector<core::SlurmDevice> devices;
    try {
        for (const std::string& file : parseGpuFiles(result.output)) {
            const auto node = lookUp(file);
            if (const auto* failure = std::get_if<core::SlurmFailure>(&node))
                return failureOf(failure->reason);
            devices.push_back(
                {static_cast<std::uint32_t>(devices.size()), std::get<core::DeviceNode>(node)});
        }
    } catch (const GresError& error) {
        return failureOf(error.what());
    }
    return devices;
}

// Takes the words of a line apart.
std::vector<std::string_view> wordsOf(std::string_view line) {
    std::vector<std::string_view> words;
    for (std::size_t begin = line.find_first_not_of(' '); begin != std::string_view::npos;) {
        const std::size_t end = std::min(line.find(' ', begin), line.size());
        words.push_back(line.substr(begin, end - begin));
        begin = line.find_first_not_of(' ', end);
    }
    return words;
}

// squeue of an earlier Slurm refuses a SLUID. It prints the SLUID beside the number, so that no
// other job is taken for this one.
SlurmAnswer judgeFinding(const SlurmFindJob& request, const SlurmProgramResult& result) {
    const std::string_view line = lastLine(result.output);
    if (result.status != 0)
        return failureOf(line.empty() ? fmt::format("squeue exited with status {}", result.status)
                                      : fmt::format("squeue said: {}", line));
    const std::vector<std::string_view> words = wordsOf(line);
    const auto job = words.size() == 2 ? core::parseSlurmJobId(words[0]) : std::nullopt;
    if (!job || core::parseSluid(words[1]) != request.sluid)
        return failureOf(fmt::format("squeue said: {}", line.empty() ? "nothing" : line));
    return SlurmFound{*job};
}

struct CommandMaker {
    const SlurmFolders& folders;

    SlurmCommand operator()(const SlurmListDevices& /*request*/) const {
        return {folders.slurmd(), {"-G"}};
    }
    // scontrol's seconds since the epoch do not depend on a time zone.
    SlurmCommand operator()(const SlurmSetEnd& request) const {
        const auto end =
            std::chrono::duration_cast<std::chrono::seconds>(request.end.time_since_epoch());
        return {folders.scontrol(),
                {"update", fmt::format("JobId={}", request.job),
                 fmt::format("EndTime=uts{}", end.count())}};
    }
    SlurmCommand operator()(const SlurmCancel& request) const {
        return {folders.scancel(), {fmt::format("{}", request.job)}};
    }
    // Without "Incomplete", scontrol would restart a job that has ended meanwhile.
    SlurmCommand operator()(const SlurmRequeue& request) const {
        return {folders.scontrol(), {"requeue", "Incomplete", fmt::format("{}", request.job)}};
    }
    SlurmCommand operator()(const SlurmFindJob& request) const {
        return {folders.squeue(),
                {"--noheader", "--all", fmt::format("--jobs={}", core::toString(request.sluid)),
                 "--Format=JobID:.12,SLUID:.16"}};
    }
};

} // namespace

std::filesystem::path SlurmFolders::slurmd() const {
    std::error_code none;
    const std::filesystem::path beside =
        (bin.has_filename() ? bin : bin.parent_path()).parent_path() / "sbin" / "slurmd";
    return std::filesystem::exists(beside, none) ? beside : bin / "slurmd";
}

SlurmCommand slurmCommand(const SlurmRequest& request, const SlurmFolders& folders) {
    return std::visit(CommandMaker{folders}, request);
}

std::variant<core::DeviceNode, core::SlurmFailure> lookUpNode(const std::string& file) {
    struct stat found {};
    if (::stat(file.c_str(), &found) != 0)
        return core::SlurmFailure{fmt::format("cannot look up the device file {} of gres.conf: {}",
                                              core::escaped(file),
                                              std::generic_category().message(errno))};
    if (!S_ISCHR(found.st_mode))
        return core::SlurmFailure{
            fmt::format("{} in gres.conf is not a device file", core::escaped(file))};
    return core::DeviceNode{gnu_dev_major(found.st_rdev), gnu_dev_minor(found.st_rdev)};
}

SlurmCommand slurmEndQuestion(core::SlurmJobId job, const SlurmFolders& folders) {
    return {folders.scontrol(), {"show", "job", "-o", fmt::format("{}", job)}};
}

std::optional<core::SlurmFailure> objectionTo(const SlurmSetEnd& request,
                                              const SlurmProgramResult& result) {
    if (result.status != 0)
        return std::get<core::SlurmFailure>(judgeChange("scontrol", result));
    const auto text = fieldIn(result.output, " EndTime=");
    if (text == "Unknown")
        return core::SlurmFailure{"Slurm does not know when it ends"};
    std::int64_t seconds = 0;
    const char* last = text ? text->data() + text->size() : nullptr;
    if (!text || text->empty() || std::from_chars(text->data(), last, seconds).ptr != last)
        return core::SlurmFailure{"scontrol did not print its end"};
    const core::WallTime end{std::chrono::seconds{seconds}};
    if (end < request.end)
        return std::nullopt;
    return core::SlurmFailure{fmt::format("its end is already later ({})", core::nameTime(end))};
}

SlurmAnswer judgeSlurmResult(const SlurmRequest& request, const SlurmProgramResult& result,
                             const NodeLookup& lookUp) {
    if (std::holds_alternative<SlurmListDevices>(request))
        return judgeListing(result, lookUp);
    if (const auto* find = std::get_if<SlurmFindJob>(&request))
        return judgeFinding(*find, result);
    return judgeChange(std::holds_alternative<SlurmCancel>(request) ? "scancel" : "scontrol",
                       result);
}

SlurmAnswer carryOutSlurmRequest(const SlurmRequest& request, const SlurmFolders& folders,
                                 const std::vector<std::string>& environment,
                                 const SlurmProgramBounds& bounds) {
    try {
        const auto run = [&](const SlurmCommand& command) {
            return runSlurmProgram(command.program, command.arguments, environment, bounds);
        };
        if (const auto* end = std::get_if<SlurmSetEnd>(&request)) {
            if (const auto objection = objectionTo(*end, run(slurmEndQuestion(end->job, folders))))
                return failureOf(objection->reason);
        }
        return judgeSlurmResult(request, run(slurmCommand(request, folders)), lookUpNode);
    } catch (const SlurmProgramError& error) {
        return failureOf(error.what());
    }
}

} // namespace genv::service
