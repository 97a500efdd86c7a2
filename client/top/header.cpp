// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/header.hpp"

#include "client/top/cell_text.hpp"
#include "client/top/jobs_rows.hpp"
#include "client/top/view.hpp"
#include "core/base/time.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace genv::top {

namespace {

std::string clockText(Time when) {
    return fmt::format("{:%H:%M:%S}", core::localTime(when));
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

// Returns the totals of the shown GPUs.
struct Totals {
    std::size_t gpus = 0;
    std::size_t free = 0;
    std::size_t held = 0;
    std::size_t outside = 0;
    std::size_t unwell = 0;
    std::uint64_t usedBytes = 0;
    std::uint64_t totalBytes = 0;
    std::uint64_t milliwatts = 0;
    std::uint64_t percent = 0;
    std::size_t measured = 0; ///< how many have a utilization
};

Totals totalsOf(const Frame& frame) {
    Totals totals;
    for (const Gpu& gpu : frame.gpus) {
        ++totals.gpus;
        totals.held += gpu.holders.empty() ? 0U : 1U;
        totals.free += gpu.isFree ? 1U : 0U;
        totals.outside += gpu.holders.empty() && isUsedOutside(frame, gpu) ? 1U : 0U;
        totals.unwell += gpu.health == "ok" ? 0U : 1U;
        if (gpu.usedMemoryBytes && gpu.totalMemoryBytes) { // else the part would be wrong
            totals.usedBytes += *gpu.usedMemoryBytes;
            totals.totalBytes += *gpu.totalMemoryBytes;
        }
        totals.milliwatts += gpu.sensors.powerMilliwatts.value_or(0);
        totals.percent += gpu.sensors.utilizationPercent.value_or(0);
        totals.measured += gpu.sensors.utilizationPercent ? 1U : 0U;
    }
    return totals;
}

// Returns the first pieces that fit, with two spaces between them.
Line fittingPieces(const std::vector<Span>& pieces, std::size_t width, Charset charset) {
    Line line;
    std::size_t cells = 0;
    for (const Span& piece : pieces) {
        const std::size_t more = cellsOf(piece.text, charset) + (line.empty() ? 0 : 2);
        if (cells + more > width)
            break;
        cells += more;
        if (!line.empty())
            line.push_back({"  ", style::plain});
        line.push_back(piece);
    }
    return line;
}

Line machineLine(const Frame& frame, const Choice& choice, std::size_t width) {
    const Charset charset = choice.charset;
    const std::string clock = clockText(frame.when);
    std::vector<Span> pieces{{"genv top", style::accent}};
    if (!frame.host.empty())
        pieces.push_back({safe(frame.host, charset), style::bold});
    if (frame.isCluster)
        pieces.push_back({"Slurm cluster", style::bold});
    else
        pieces.push_back(
            {frame.driver.empty() ? "no driver" : "driver " + safe(frame.driver, charset),
             frame.driver.empty() ? style::warning : style::plain});
    if (!frame.isolation.empty())
        pieces.push_back({"isolation " + safe(frame.isolation, charset), style::plain});
    if (choice.mineOnly)
        pieces.push_back({"only mine", style::warning});
    if (!choice.filter.empty() && !choice.isFiltering)
        pieces.push_back({"filter: " + safe(choice.filter, charset), style::warning});
    if (choice.isReadOnly)
        pieces.push_back({"read-only", style::dim});
    const std::size_t room = width > clock.size() + 2 ? width - clock.size() - 2 : 0;
    Line line = fittingPieces(pieces, room, charset);
    const std::size_t cells = cellsOf(line, charset);
    if (cells + clock.size() + 2 <= width) {
        line.push_back({std::string(width - cells - clock.size(), ' '), style::plain});
        line.push_back({clock, style::dim});
    }
    return line;
}

Line totalsLine(const Frame& frame, const Choice& choice, std::size_t width) {
    constexpr std::uint64_t milli = 1000;
    const Totals totals = totalsOf(frame);
    std::vector<Span> pieces{{counted(totals.gpus, "GPU", "GPUs"), style::bold}};
    pieces.push_back(
        {fmt::format("{} free", totals.free), totals.free > 0 ? style::good : style::warning});
    pieces.push_back({fmt::format("{} held", totals.held), style::plain});
    if (totals.outside > 0)
        pieces.push_back({fmt::format("{} outside genv", totals.outside), style::warning});
    if (totals.unwell > 0)
        pieces.push_back({fmt::format("{} unwell", totals.unwell), style::bad});
    if (!frame.waiters.empty())
        pieces.push_back({fmt::format("{} waiting", frame.waiters.size()), style::warning});
    const auto parked =
        std::ranges::count(frame.parked, std::string_view("parked"), &Parked::state);
    if (parked > 0)
        pieces.push_back({fmt::format("{} parked", parked), style::plain});
    if (totals.totalBytes > 0)
        pieces.push_back({"memory " + usedOf(totals.usedBytes, totals.totalBytes), style::plain});
    if (totals.measured > 0)
        pieces.push_back(
            {fmt::format("utilization {}%", totals.percent / totals.measured), style::plain});
    if (totals.milliwatts > 0)
        pieces.push_back({fmt::format("{}W", totals.milliwatts / milli), style::plain});
    pieces.push_back({counted(frame.environments, "environment", "environments"), style::plain});
    if (!frame.isCluster)
        pieces.push_back({counted(frame.processes.size(), "process", "processes"), style::plain});
    return fittingPieces(pieces, width, choice.charset);
}

Line keysLine(const Choice& choice, std::size_t width) {
    std::vector<std::pair<std::string_view, std::string_view>> keys{
        {"q", "quit"}, {"h", "help"}, {"/", "filter"},
        {"o", "sort"}, {"m", "mine"}, {"Enter", "details"}};
    if (!choice.isReadOnly) {
        const std::initializer_list<std::pair<std::string_view, std::string_view>> actions{
            {"d", "detach"}, {"t", "terminate"}, {"a", "attach"}, {"w", "wait"},
            {"e", "extend"}, {"c", "cancel"},    {"p", "park"},   {"r", "resume"}};
        keys.insert(keys.end(), actions);
    }
    Line line;
    std::size_t cells = 0;
    for (const auto& [key, word] : keys) {
        const std::size_t more = key.size() + word.size() + (line.empty() ? 1 : 3);
        if (cells + more > width)
            break;
        cells += more;
        if (!line.empty())
            line.push_back({"  ", style::plain});
        line.push_back({std::string(key), style::accent});
        line.push_back({" " + std::string(word), style::dim});
    }
    return line;
}

// Shows the end of a long input.
Line inputLine(std::string_view question, std::string_view input, std::size_t width,
               Charset charset) {
    const std::string text = safe(input, charset) + "_";
    std::string_view shown = text;
    const std::size_t asked = std::min(cellsOf(question, charset) + 1, width);
    while (cellsOf(shown, charset) > width - asked && shown.size() > 1) {
        shown.remove_prefix(1);
        while (!shown.empty() && (static_cast<unsigned char>(shown.front()) & 0xc0U) == 0x80U)
            shown.remove_prefix(1); // the rest of a character
    }
    return {{cut(question, width, charset) + " ", style::bold}, {std::string(shown), style::plain}};
}

} // namespace

std::vector<Line> headerLines(const Frame& frame, const Choice& choice, std::size_t width) {
    std::vector<Line> lines{machineLine(frame, choice, width), totalsLine(frame, choice, width)};
    if (auto jobs = jobsLine(frame))
        lines.push_back(*std::move(jobs));
    if (!frame.trouble.empty())
        lines.push_back({{safe(frame.trouble, choice.charset), style::bad}});
    return lines;
}

Line footerLine(const Choice& choice, std::size_t width) {
    if (choice.isFiltering)
        return inputLine("Filter by user or text:", choice.filter, width, choice.charset);
    if (choice.isSorting)
        return {{"Sort by: ", style::bold},
                {"i index  u user  m memory  g utilization  t temperature  p power  l lease",
                 style::plain}};
    if (choice.prompt && choice.prompt->kind == Prompt::Kind::Confirm)
        return {{choice.prompt->question + " [y/N]", style::bold}};
    if (choice.prompt)
        return inputLine(choice.prompt->question, choice.prompt->input, width, choice.charset);
    if (!choice.message.empty())
        return {{choice.message, choice.isBadNews ? style::bad : style::good}};
    return keysLine(choice, width);
}

} // namespace genv::top
