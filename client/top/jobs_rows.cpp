// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/jobs_rows.hpp"

#include "client/genvctl/jobs/state_text.hpp"
#include "client/top/cell_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace genv::top {

namespace {

using jobs::JobRow;

constexpr std::size_t numberWidth = 6;
constexpr std::size_t gpusWidth = 4;
constexpr std::size_t timeWidth = 10;
constexpr std::size_t minNameWidth = 8;
constexpr std::size_t maxNameWidth = 24;

// Jobs that wait or run, then those that have ended; each the newest first, since it is looked for.
std::vector<const JobRow*> ordered(const Frame& frame) {
    std::vector<const JobRow*> rows;
    if (!frame.jobs)
        return rows;
    for (const JobRow& job : *frame.jobs)
        rows.push_back(&job);
    std::ranges::sort(rows, [](const JobRow* a, const JobRow* b) {
        return a->hasEnded() != b->hasEnded() ? b->hasEnded() : a->number > b->number;
    });
    return rows;
}

Style styleOf(const JobRow& job) {
    if (job.failed > 0)
        return style::bad;
    if (job.running > 0)
        return style::good;
    return job.waiting > 0 ? style::warning : style::dim;
}

Line rowOf(const JobRow& job, Time now, Charset charset, std::size_t width) {
    const std::size_t nameWidth = std::clamp(width / 4, minNameWidth, maxNameWidth);
    const std::string name = safe(ctl::nameText(job), charset);
    return {
        {fitted(std::to_string(job.number), numberWidth, charset, Align::Right) + ' ', style::bold},
        {fitted(name, nameWidth, charset) + ' ', style::plain},
        {fitted(std::to_string(job.gpus), gpusWidth, charset, Align::Right) + ' ', style::plain},
        {fitted(ctl::runTimeText(job.started, job.ended, now), timeWidth, charset) + ' ',
         style::dim},
        {safe(ctl::stateText(job, now), charset), styleOf(job)}};
}

Line titleOf(std::size_t first, std::size_t shown, std::size_t all, Charset charset,
             std::size_t width) {
    const std::size_t nameWidth = std::clamp(width / 4, minNameWidth, maxNameWidth);
    std::string title = fmt::format(
        "{} {} {} {} STATE", fitted("JOB", numberWidth, charset, Align::Right),
        fitted("NAME", nameWidth, charset), fitted("GPUS", gpusWidth, charset, Align::Right),
        fitted("TIME", timeWidth, charset));
    const std::string part =
        shown < all ? fmt::format(" {}-{}/{}", first + 1, first + shown, all) : "";
    title = fitted(title, width - std::min(width, part.size()), charset) + part;
    Span span{std::move(title), style::bold};
    span.style.isReverse = true;
    return {std::move(span)};
}

} // namespace

std::size_t jobsCount(const Frame& frame) {
    return frame.jobs ? frame.jobs->size() : 0;
}

std::optional<Line> jobsLine(const Frame& frame) {
    if (jobsCount(frame) == 0)
        return std::nullopt;
    std::uint64_t running = 0;
    std::uint64_t waiting = 0;
    std::uint64_t failed = 0;
    std::uint64_t done = 0;
    for (const JobRow& job : *frame.jobs) {
        running += job.running;
        waiting += job.waiting;
        failed += job.failed;
        done += job.done;
    }
    Line line{{"my jobs", style::bold}};
    const auto add = [&](std::uint64_t count, std::string_view what, Style style) {
        if (count > 0)
            line.push_back({fmt::format("  {} {}", count, what), style});
    };
    add(running, "running", style::good);
    add(waiting, "waiting", style::warning);
    add(failed, "failed", style::bad);
    add(done, "done", style::plain);
    line.push_back({"  J", style::accent});
    line.push_back({" list", style::dim});
    return line;
}

JobsList jobsList(const Frame& frame, const Choice& choice, std::size_t room, std::size_t width) {
    const std::vector<const JobRow*> rows = ordered(frame);
    if (rows.empty())
        return {{{{"No job waits, runs or has ended in the last day.", style::plain}},
                 {{"\"genvctl submit -- COMMAND\" submits one.", style::dim}}},
                std::nullopt};
    const std::size_t shown = std::min(rows.size(), std::max<std::size_t>(room, 2) - 1);
    const std::size_t chosen = std::min(choice.job, rows.size() - 1);
    const std::size_t first = std::min(chosen / shown * shown, rows.size() - shown);
    JobsList list{{titleOf(first, shown, rows.size(), choice.charset, width)}, chosen - first + 1};
    for (std::size_t i = first; i < first + shown; ++i)
        list.lines.push_back(rowOf(*rows[i], frame.when, choice.charset, width));
    return list;
}

} // namespace genv::top
