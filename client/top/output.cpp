// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/output.hpp"

#include <utility>

namespace genv::top {

namespace {

std::string sequenceFor(const Style& style, TextEmphasis emphasis) {
    if (emphasis == TextEmphasis::None || style == Style{})
        return {};
    std::string codes;
    const auto add = [&](int code) { codes += ";" + std::to_string(code); };
    if (style.isBold)
        add(1);
    if (style.isDim)
        add(2);
    if (style.isReverse)
        add(7);
    if (emphasis == TextEmphasis::Colors) {
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

} // namespace

std::string textOf(const std::vector<PageLine>& lines, TextEmphasis emphasis) {
    std::string text;
    for (const PageLine& line : lines) {
        Line spans = line.spans;
        if (emphasis == TextEmphasis::None) {
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

ctl::Json jsonOf(const Frame& frame, ListsJson lists) {
    return {{"time", ctl::toJson(frame.when)},
            {"host", ctl::orNull(frame.host)},
            {"driver", ctl::orNull(frame.driver)},
            {"isolation", ctl::orNull(frame.isolation)},
            {"cluster", frame.isCluster ? ctl::Json("slurm") : ctl::Json(nullptr)},
            {"trouble", ctl::orNull(frame.trouble)},
            {"devices", std::move(lists.devices)},
            {"environments", std::move(lists.environments)},
            {"processes", std::move(lists.processes)},
            {"queue", std::move(lists.queue)}};
}

} // namespace genv::top
