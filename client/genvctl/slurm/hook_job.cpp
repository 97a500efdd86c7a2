// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/slurm/hook_job.hpp"

#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/model/sluid.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>

namespace genv::ctl {

namespace {

// No node has more GPUs, and no list may contain more numbers.
constexpr std::uint32_t maxGpus = 4096;

std::optional<std::uint64_t> toWhole(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

std::uint32_t requireWhole(const SlurmVariables& variables, const char* name, std::uint32_t min) {
    const char* text = variables(name);
    const auto number = toWhole(text != nullptr ? text : "");
    if (!number || *number < min || *number > UINT32_MAX)
        throw SlurmJobError(
            text == nullptr
                ? fmt::format("{} is not set: slurmd runs this command", name)
                : fmt::format("invalid {} \"{}\": expected {}-{}", name, text, min, UINT32_MAX));
    return static_cast<std::uint32_t>(*number);
}

} // namespace

std::string slurmEnvironment(std::uint32_t job) {
    return "slurm-" + std::to_string(job);
}

std::vector<std::uint32_t> parseGpuNumbers(std::string_view list) {
    std::vector<std::uint32_t> numbers;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        const std::string_view part = list.substr(begin, end - begin);
        const std::size_t dash = std::min(part.find('-'), part.size());
        const auto first = parseNumber(part.substr(0, dash));
        const auto last = dash < part.size() ? parseNumber(part.substr(dash + 1)) : first;
        if (!first || !last || *first > *last || *last >= maxGpus)
            throw SlurmJobError(
                fmt::format("invalid SLURM_JOB_GPUS \"{}\": expected numbers such as 0,2-3", list));
        for (std::uint32_t number = *first; number <= *last; ++number)
            numbers.push_back(number);
        begin = end + 1;
    }
    return numbers;
}

std::uint32_t readSlurmJobId(const SlurmVariables& variables) {
    return requireWhole(variables, "SLURM_JOB_ID", 1);
}

std::optional<HookJob> readSlurmJob(const SlurmVariables& variables) {
    const char* gpus = variables("SLURM_JOB_GPUS");
    if (gpus == nullptr || *gpus == '\0')
        return std::nullopt;
    HookJob job;
    job.id = readSlurmJobId(variables);
    job.uid = requireWhole(variables, "SLURM_JOB_UID", 0);
    job.gpus = parseGpuNumbers(gpus);
    // Slurm sets this variable since 23.02. The end of a job without a limit is a time that no
    // clock reaches.
    constexpr std::uint64_t never = UINT32_MAX - 1;
    const char* end = variables("SLURM_JOB_END_TIME");
    if (const auto time = toWhole(end != nullptr ? end : ""); time && *time > 0 && *time < never)
        job.end = time;
    // From Slurm 26.05. Without it, the service asks Slurm.
    const char* sluid = variables("SLURM_JOB_SLUID");
    if (const auto parsed = core::parseSluid(sluid != nullptr ? sluid : ""))
        job.sluid = core::toString(*parsed);
    return job;
}

std::map<std::uint32_t, std::string> readSlurmDevices(const std::filesystem::path& file) {
    std::ifstream stream(file);
    if (!stream.is_open())
        throw SlurmJobError(fmt::format("{} cannot be read: {}; genvd writes it where Devices= in "
                                        "[Slurm] of genvd.conf gives Slurm a GPU",
                                        file.string(), std::generic_category().message(errno)));
    std::map<std::uint32_t, std::string> devices;
    for (std::string line; std::getline(stream, line);) {
        const std::size_t space = std::min(line.find(' '), line.size());
        const auto number = parseNumber(std::string_view(line).substr(0, space));
        if (!number || space + 1 >= line.size())
            throw SlurmJobError(fmt::format("{} has an invalid line: \"{}\"", file.string(), line));
        devices.emplace(*number, line.substr(space + 1));
    }
    return devices;
}

std::vector<std::string> uuidsOf(const HookJob& job,
                                 const std::map<std::uint32_t, std::string>& devices) {
    std::vector<std::string> uuids;
    for (const std::uint32_t number : job.gpus) {
        const auto found = devices.find(number);
        if (found == devices.end())
            throw SlurmJobError(
                fmt::format("genvd knows no device for Slurm's GPU {}; \"genvctl doctor slurm\" "
                            "says more",
                            number));
        uuids.push_back(found->second);
    }
    return uuids;
}

} // namespace genv::ctl
