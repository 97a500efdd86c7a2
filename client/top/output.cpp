// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/output.hpp"

#include "client/top/view.hpp"

#include <utility>

namespace genv::top {

namespace {

using ctl::Json;
using ctl::orNull;

std::string sequenceFor(const Style& style, Emphasis emphasis) {
    if (emphasis == Emphasis::None || style == Style{})
        return {};
    std::string codes;
    const auto add = [&](int code) { codes += ";" + std::to_string(code); };
    if (style.isBold)
        add(1);
    if (style.isDim)
        add(2);
    if (style.isReverse)
        add(7);
    if (emphasis == Emphasis::Colours) {
        constexpr int firstColour = 30;
        switch (style.colour) {
        case Colour::Default:
            break;
        case Colour::Red:
            add(firstColour + 1);
            break;
        case Colour::Green:
            add(firstColour + 2);
            break;
        case Colour::Yellow:
            add(firstColour + 3);
            break;
        case Colour::Blue:
            add(firstColour + 4);
            break;
        case Colour::Magenta:
            add(firstColour + 5);
            break;
        case Colour::Cyan:
            add(firstColour + 6);
            break;
        }
    }
    return codes.empty() ? "" : "\x1b[" + codes.substr(1) + "m";
}

// Spaces at the end of a line are visible only with a background color.
void dropPadding(Line& line) {
    while (!line.empty() && !line.back().style.isReverse) {
        std::string& text = line.back().text;
        text.erase(text.find_last_not_of(' ') + 1);
        if (!text.empty())
            return;
        line.pop_back();
    }
}

Json timeOrNull(const std::optional<Time>& time) {
    return time ? ctl::toJson(*time) : Json(nullptr);
}

Json nullIfEmpty(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

Json holderJson(const Holder& holder) {
    return {{"environment", holder.environment},
            {"name", orNull(holder.name)},
            {"user", holder.user},
            {"uid", holder.uid},
            {"gpu_memory", orNull(holder.shareBytes)},
            {"since", timeOrNull(holder.since)},
            {"expires", timeOrNull(holder.expires)},
            {"lingering", holder.isLingering},
            {"within", orNull(holder.parent)}};
}

Json gpuJson(const Gpu& gpu) {
    Json holders = Json::array();
    for (const Holder& holder : gpu.holders)
        holders.push_back(holderJson(holder));
    Json parts = Json::array();
    for (const Holder& part : gpu.parts)
        parts.push_back(holderJson(part));
    return {{"index", gpu.index},
            {"label", gpu.label},
            {"uuid", nullIfEmpty(gpu.uuid)},
            {"model", nullIfEmpty(gpu.model)},
            {"pci_address", nullIfEmpty(gpu.pciAddress)},
            {"health", gpu.health},
            {"reserved_for", orNull(gpu.reservedFor)},
            {"locked_by", orNull(gpu.lockHolder)},
            {"free", gpu.isFree},
            {"total_memory", orNull(gpu.totalMemoryBytes)},
            {"unaccounted_memory", gpu.unaccountedBytes},
            {"used_memory", orNull(gpu.usedMemoryBytes)},
            {"utilization", orNull(gpu.utilizationPercent)},
            {"temperature", orNull(gpu.temperatureCelsius)},
            {"power", orNull(gpu.powerMilliwatts)},
            {"power_limit", orNull(gpu.powerLimitMilliwatts)},
            {"sampled", timeOrNull(gpu.sampledAt)},
            {"holders", std::move(holders)},
            {"parts", std::move(parts)}};
}

Json processJson(const Process& process) {
    return {{"pid", process.pid},
            {"uid", process.uid},
            {"user", process.user},
            {"program", process.program},
            {"environment", orNull(process.environment)},
            {"gpus", process.gpus},
            {"memory", orNull(process.memoryBytes)},
            {"utilization", orNull(process.utilizationPercent)},
            {"started", timeOrNull(process.started)}};
}

Json waiterJson(const Waiter& waiter) {
    return {{"position", waiter.place},
            {"ticket", waiter.ticket},
            {"environment", waiter.environment},
            {"name", orNull(waiter.name)},
            {"user", waiter.user},
            {"uid", waiter.uid},
            {"wants", waiter.wanted},
            {"since", ctl::toJson(waiter.since)}};
}

} // namespace

std::string textOf(const std::vector<PageLine>& lines, Emphasis emphasis) {
    std::string text;
    for (const PageLine& line : lines) {
        Line spans = line.spans;
        if (emphasis == Emphasis::None) {
            for (Span& span : spans)
                span.style = style::plain;
        }
        dropPadding(spans);
        for (const Span& span : spans) {
            const std::string before = sequenceFor(span.style, emphasis);
            text += before + span.text + (before.empty() ? "" : "\x1b[0m");
        }
        text += '\n';
    }
    return text;
}

Json jsonOf(const Frame& frame, const Choice& choice) {
    const View view = viewOf(frame, choice);
    Json gpus = Json::array();
    for (const Gpu* gpu : view.gpus)
        gpus.push_back(gpuJson(*gpu));
    Json processes = Json::array();
    for (const Process* process : view.processes)
        processes.push_back(processJson(*process));
    Json queue = Json::array();
    for (const Waiter* waiter : view.waiters)
        queue.push_back(waiterJson(*waiter));
    return {{"time", ctl::toJson(frame.when)},
            {"host", nullIfEmpty(frame.host)},
            {"driver", nullIfEmpty(frame.driver)},
            {"isolation", nullIfEmpty(frame.isolation)},
            {"cluster", frame.isCluster ? Json("slurm") : Json(nullptr)},
            {"trouble", nullIfEmpty(frame.trouble)},
            {"gpus", std::move(gpus)},
            {"processes", std::move(processes)},
            {"queue", std::move(queue)}};
}

} // namespace genv::top
