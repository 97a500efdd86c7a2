// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/queue_report.hpp"

#include "client/genvctl/terminal/text.hpp"
#include "core/duration.hpp"
#include "core/limit_definitions.hpp"
#include "core/quota_hold.hpp"
#include "core/sentences.hpp"

#include <fmt/format.h>

namespace genv::ctl {

namespace {

constexpr const char* indent = "   ";

std::string requestLine(const QueueDescription& request, Time now) {
    return fmt::format("{}. {}({}) waits for {}{}, environment {}, since {}", request.position,
                       request.user, request.entry.uid, core::counted(request.entry.gpus, "GPU"),
                       request.parent ? " of environment " + *request.parent : std::string(),
                       request.entry.environment, shortTimestamp(request.entry.since, now));
}

std::string standingLine(const QueueDescription& request, Time now) {
    std::string line = fmt::format("use {:.1f} GPU hours, weight {}", request.useGpuSeconds / 3600,
                                   request.weight);
    if (request.priority != 0)
        line += fmt::format(", priority {}", request.priority);
    if (request.order != "fair")
        return line;
    line += fmt::format(", overtaken {}", core::counted(request.overtakings, "time"));
    if (request.firstSince)
        line += ", first since " + shortTimestamp(*request.firstSince, now);
    return line;
}

std::string reasonLine(const QueueDescription& request) {
    if (request.hold && core::findLimitByKey(request.hold->limit) != nullptr)
        return "held back: " +
               core::describeHold({request.hold->limit, request.hold->used, request.hold->allowed},
                                  request.user);
    return request.waitsFor == "earlier-requests" ? "earlier requests are next"
                                                  : "others hold the GPUs";
}

std::string reasonAndStart(const QueueDescription& request, Time now) {
    return fmt::format("{}; expected start {}", reasonLine(request),
                       request.expectedStart
                           ? "about " + shortTimestamp(*request.expectedStart, now)
                           : std::string("unknown"));
}

} // namespace

std::string queueReport(const std::vector<QueueDescription>& queue, Time now, std::size_t width) {
    std::string text;
    for (const QueueDescription& request : queue) {
        text += wrapped("", requestLine(request, now), indent, width);
        text += wrapped(indent, standingLine(request, now), indent, width);
        text += wrapped(indent, reasonAndStart(request, now), indent, width);
    }
    return text;
}

Json standingJson(const QueueDescription& request) {
    Json json{{"order", request.order},
              {"use_gpu_seconds", request.useGpuSeconds},
              {"weight", request.weight},
              {"priority", request.priority},
              {"overtakings", request.overtakings},
              {"first_since", request.firstSince ? toJson(*request.firstSince) : Json()},
              {"waits_for", request.waitsFor},
              {"quota", Json()},
              {"expected_start", request.expectedStart ? toJson(*request.expectedStart) : Json()}};
    if (request.hold)
        json["quota"] = {{"limit", request.hold->limit},
                         {"used", request.hold->used},
                         {"allowed", request.hold->allowed}};
    return json;
}

} // namespace genv::ctl
