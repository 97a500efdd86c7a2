// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/queue_report.hpp"

#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/duration.hpp"
#include "core/queue/quota_hold.hpp"
#include "core/sentences/sentences.hpp"
#include "core/settings/limit_definitions.hpp"

#include <fmt/format.h>

namespace genv::ctl {

namespace {

constexpr const char* indent = "   ";

std::string requestLine(const WaitingRequest& waiting, Time now) {
    const QueueDescription& request = waiting.description;
    return fmt::format("{}. {}({}) waits {}for {}{}, environment {}, since {}", request.position,
                       request.user, request.entry.uid, waiting.resumes ? "to go on, " : "",
                       core::counted(request.entry.gpus, "GPU"),
                       request.parent ? " of environment " + *request.parent : std::string(),
                       request.entry.environment, shortTimestamp(request.entry.since, now));
}

std::string standingLine(const WaitingRequest& waiting, Time now) {
    const QueueDescription& request = waiting.description;
    std::string line = fmt::format("use {:.1f} GPU hours, weight {}", request.useGpuSeconds / 3600,
                                   request.weight);
    if (request.priority != 0 && !waiting.resumes) // the service chose that of a resume
        line += fmt::format(", priority {}", request.priority);
    if (request.order != "fair")
        return line;
    line += fmt::format(", overtaken {}", core::counted(request.overtakings, "time"));
    if (request.firstSince)
        line += ", first since " + shortTimestamp(*request.firstSince, now);
    return line;
}

std::string reasonLine(const WaitingRequest& waiting, const LoanStates& loans) {
    const QueueDescription& request = waiting.description;
    if (waiting.taking)
        return takingText(*waiting.taking);
    if (request.hold && core::findLimitByKey(request.hold->limit) != nullptr)
        return "held back: " +
               core::describeHold({request.hold->limit, request.hold->used, request.hold->allowed},
                                  request.user);
    const std::string why =
        waiting.resumes ? core::becauseParked(whyParked(loans, request.entry.environment)) : "";
    return fmt::format("{}{}{}", why.empty() ? "" : fmt::format("parked {}; ", why),
                       request.waitsFor == "earlier-requests" ? "earlier requests are next"
                                                              : "others hold the GPUs",
                       waiting.problem ? "; the last taking failed: " + shown(*waiting.problem)
                                       : std::string());
}

std::string reasonAndStart(const WaitingRequest& request, const LoanStates& loans, Time now) {
    const auto& start = request.description.expectedStart;
    return fmt::format("{}; expected start {}", reasonLine(request, loans),
                       start ? "about " + shortTimestamp(*start, now) : std::string("unknown"));
}

} // namespace

std::string queueReport(const std::vector<WaitingRequest>& queue, const LoanStates& loans, Time now,
                        std::size_t width) {
    std::string text;
    for (const WaitingRequest& request : queue) {
        text += wrapped("", requestLine(request, now), indent, width);
        text += wrapped(indent, standingLine(request, now), indent, width);
        text += wrapped(indent, reasonAndStart(request, loans, now), indent, width);
    }
    return text;
}

} // namespace genv::ctl
