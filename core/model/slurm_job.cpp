// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/model/slurm_job.hpp"

#include <charconv>

namespace genv::core {

namespace {

constexpr std::string_view idPrefix = "slurm-";

} // namespace

bool isNamed(const SlurmJob& job, const SlurmJobName& name) {
    if (const auto* number = std::get_if<SlurmJobId>(&name))
        return job.id == *number;
    return job.sluid == std::get<Sluid>(name);
}

bool isOtherRun(const SlurmJob& job, const std::optional<Sluid>& sluid) {
    return job.sluid && sluid && *job.sluid != *sluid;
}

std::string environmentIdOf(SlurmJobId job) {
    return std::string(idPrefix) + std::to_string(job);
}

bool isJobEnvironmentId(std::string_view id) {
    return id.starts_with(idPrefix);
}

std::optional<SlurmJobId> parseSlurmJobId(std::string_view text) {
    SlurmJobId job = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, job);
    if (error != std::errc{} || stop != end || text.starts_with('0'))
        return std::nullopt;
    return job;
}

} // namespace genv::core
