// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/model/told_notices.hpp"

#include "client/jobs/model/attempt_environment_id.hpp"
#include "client/notify/notice_groups.hpp"
#include "core/base/bytes.hpp"
#include "core/base/duration.hpp"
#include "core/parking/parking_sentences.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

namespace genv::messages {

namespace {

using notify::Details;

// Who or what acted: the user who did is not named.
std::string actorOf(const std::string& reason) {
    if (reason == "admin")
        return "by an administrator";
    if (reason == "idle")
        return "because they were idle";
    if (reason == "job")
        return "by Slurm";
    if (reason == "preempted")
        return "for another request, since it could not be parked";
    if (reason.starts_with(notify::rulePrefix))
        return "by the rule " + boundedName(reason.substr(notify::rulePrefix.size()));
    return reason.empty() ? "by the service" : fmt::format("({})", boundedName(reason));
}

std::string describeGranted(const Details& /*details*/) {
    return "granted after a wait";
}

std::string describeTaken(const Details& details) {
    return "taken away " + actorOf(details.text("reason"));
}

std::string describeEnded(const Details& details) {
    const std::string reason = details.text("reason");
    return reason == "idle" ? "ended because its GPUs were idle" : "ended " + actorOf(reason);
}

std::string describeProcess(const Details& details) {
    return "a process was ended " + actorOf(details.text("reason"));
}

std::string describeExpiring(const Details& details) {
    return "the lease ends in " +
           core::formatDuration(std::chrono::seconds(details.number("left")));
}

std::string describeExpired(const Details& /*details*/) {
    return "the lease has ended";
}

std::string describeLifetime(const Details& details) {
    return "the longest lifetime ends in " +
           core::formatDuration(std::chrono::seconds(details.number("left")));
}

// The taker is a name, which may have to stay on the machine.
std::string describeParked(const Details& details) {
    core::ParkedWhy why{details.text("reason")};
    if (details.has("expected"))
        why.expected = core::fromMicroseconds(details.number("expected"));
    const std::string because = core::becauseParked(why);
    std::string text =
        fmt::format("parked{}: {} moved to host memory", because.empty() ? "" : " " + because,
                    core::nameMemory(core::Bytes{details.number("memory")}));
    if (why.resumesByItself())
        text += "; " + core::describeComeback(why);
    return text;
}

std::string describeLoanEnding(const Details& details) {
    return fmt::format("it cannot be parked for another request, and ends in {}",
                       core::formatDuration(std::chrono::seconds(details.number("left"))));
}

std::string describeResumed(const Details& /*details*/) {
    return "resumed";
}

// The problem names processes, which do not leave the machine.
std::string describeUnparkable(const Details& /*details*/) {
    return "could not be parked";
}

std::string describeResumeDelayed(const Details& /*details*/) {
    return "its GPUs are attached, but it waits for room on them";
}

std::string describeParkedLong(const Details& details) {
    return "parked for too long; it ends in " +
           core::formatDuration(std::chrono::seconds(details.number("left")));
}

std::string describeLostProcess(const Details& /*details*/) {
    return "the driver lost a process when it resumed";
}

std::string describeFailedLoan(const Details& details) {
    return "over the quota, since it could not be parked for others; it ends in " +
           core::formatDuration(std::chrono::seconds(details.number("left")));
}

std::string describeMemory(const Details& details) {
    return fmt::format("{} of a share of {} is used",
                       core::nameMemory(core::Bytes{details.number("used")}),
                       core::nameMemory(core::Bytes{details.number("share")}));
}

std::string describeExcess(const Details& details) {
    return fmt::format("more GPU memory is used than its share; processes are ended in {}",
                       core::formatDuration(std::chrono::seconds(details.number("left"))));
}

std::string describeHealth(const Details& details) {
    const std::string health = details.text("health");
    if (health == "ok")
        return "healthy again";
    if (health == "stale")
        return "the driver does not answer";
    if (health == "lost")
        return "lost";
    return "unhealthy: " + boundedName(health);
}

std::string describeLost(const Details& /*details*/) {
    return "lost";
}

struct NoticeRow {
    std::string_view notice;
    std::string_view cause; ///< the detail "reason", or "rule" of a warning; empty: any
    Kind kind;
    std::string (*describe)(const Details&);
};

// The first matching row counts. Other notices are for desktops and terminals only.
constexpr std::array noticeRows{
    NoticeRow{"granted", "", Kind::Granted, &describeGranted},
    NoticeRow{"detached", "expired", Kind::Lease, &describeExpired},
    NoticeRow{"detached", "device-lost", Kind::Unhealthy, &describeLost},
    NoticeRow{"detached", "", Kind::Taken, &describeTaken},
    NoticeRow{"ended", "expired", Kind::Lease, &describeExpired},
    NoticeRow{"ended", "", Kind::Taken, &describeEnded},
    NoticeRow{"process-terminated", "", Kind::Taken, &describeProcess},
    NoticeRow{"expiring", "", Kind::Lease, &describeExpiring},
    NoticeRow{"warning", "max-lifetime", Kind::Lease, &describeLifetime},
    NoticeRow{"warning", "max-preemptible-devices", Kind::Lease, &describeFailedLoan},
    NoticeRow{"warning", "env-memory", Kind::Memory, &describeExcess},
    NoticeRow{"parked", "", Kind::Parked, &describeParked},
    NoticeRow{"resumed", "", Kind::Parked, &describeResumed},
    NoticeRow{"parking-failed", "", Kind::Parked, &describeUnparkable},
    NoticeRow{"resume-delayed", "", Kind::Parked, &describeResumeDelayed},
    NoticeRow{"parked-long", "", Kind::Lease, &describeParkedLong},
    NoticeRow{"loan-ending", "", Kind::Taken, &describeLoanEnding},
    NoticeRow{"process-lost", "", Kind::Taken, &describeLostProcess},
    NoticeRow{"memory", "", Kind::Memory, &describeMemory},
    NoticeRow{"device-health", "", Kind::Unhealthy, &describeHealth},
};

const NoticeRow* rowOf(const std::string& notice, const std::string& cause) {
    const auto* row =
        std::find_if(noticeRows.begin(), noticeRows.end(), [&](const NoticeRow& each) {
            return each.notice == notice && (each.cause.empty() || each.cause == cause);
        });
    return row == noticeRows.end() ? nullptr : row;
}

std::vector<core::DeviceIndex> gpusOf(const Details& details) {
    auto gpus = details.devices();
    if (details.has("device"))
        gpus.push_back(details.device().index);
    std::sort(gpus.begin(), gpus.end());
    return gpus;
}

// The id of a task's environment has a point: "job-17.3". An array of thousands would tell each.
bool isTaskOfArray(const Notice& notice) {
    return jobs::jobOf(notice.environment) && notice.environment.find('.') != std::string::npos;
}

// genv-jobs may quote a program in a reason, but not in these.
bool mayLeave(std::string_view reason) {
    return reason.starts_with("exit status ") || reason.starts_with("ended by SIG");
}

std::string statusOfJob(const JobFacts& job) {
    if (job.isArray) {
        std::string text = fmt::format("{}/{} done", job.done, job.tasks);
        if (job.failed > 0)
            text += fmt::format(", {} failed", job.failed);
        if (job.canceled > 0)
            text += fmt::format(", {} canceled", job.canceled);
        return text;
    }
    if (job.state != "failed")
        return job.state;
    if (mayLeave(job.reason))
        return boundedName(job.reason);
    return job.status > 0 ? fmt::format("failed with status {}", job.status) : "failed";
}

} // namespace

std::optional<MessageEvent> eventOf(const Notice& notice, core::WallTime when) {
    const Details details(notice);
    const NoticeRow* row = rowOf(notice.kind, notice.kind == "warning" ? details.text("rule")
                                                                       : details.text("reason"));
    if (row == nullptr || (row->kind == Kind::Granted && isTaskOfArray(notice)))
        return std::nullopt;
    return MessageEvent{
        .kind = row->kind,
        .when = when,
        .environment = boundedName(notice.environment),
        .name = boundedName(details.text("name")),
        .gpus = gpusOf(details),
        .duration = std::chrono::seconds(row->kind == Kind::Granted ? details.number("waited") : 0),
        .status = row->describe(details),
        .by =
            details.has("taker")
                ? boundedName(notify::userName(static_cast<std::uint32_t>(details.number("taker"))))
                : std::string()};
}

std::optional<MessageEvent> eventOf(const JobFacts& job) {
    const bool isBad = job.state == "failed" || job.state == "lost";
    if ((!isBad && job.state != "done" && job.state != "canceled") || job.ended == 0)
        return std::nullopt;
    MessageEvent event{.kind = isBad ? Kind::JobFailed : Kind::JobEnded,
                       .when = core::fromMicroseconds(job.ended),
                       .job = job.number,
                       .name = boundedName(job.name),
                       .gpus = {},
                       .gpuCount = job.gpus,
                       .status = statusOfJob(job)};
    if (job.started > 0 && job.started < job.ended)
        event.duration = std::chrono::duration_cast<std::chrono::seconds>(
            std::chrono::microseconds(job.ended - job.started));
    return event;
}

} // namespace genv::messages
