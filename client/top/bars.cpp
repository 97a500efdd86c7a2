// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/bars.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

namespace genv::top {

namespace {

constexpr std::array<std::string_view, 8> eighths{"",       "\u258f", "\u258e", "\u258d",
                                                  "\u258c", "\u258b", "\u258a", "\u2589"};
constexpr std::array<std::string_view, 8> blockHeights{"\u2581", "\u2582", "\u2583", "\u2584",
                                                       "\u2585", "\u2586", "\u2587", "\u2588"};
constexpr std::array<std::string_view, 8> asciiHeights{"_", ".", ":", "-", "=", "+", "*", "#"};

std::string repeated(std::string_view text, std::size_t count) {
    std::string result;
    for (std::size_t i = 0; i < count; ++i)
        result += text;
    return result;
}

Style ofGraph(Style style) {
    style.isGraph = true;
    return style;
}

// Returns the mean of the known steps.
std::uint8_t meanOf(const std::uint8_t* begin, const std::uint8_t* end) {
    unsigned sum = 0;
    unsigned count = 0;
    for (const std::uint8_t* step = begin; step != end; ++step) {
        if (*step == unknownStep)
            continue;
        sum += *step;
        ++count;
    }
    return count == 0 ? unknownStep : static_cast<std::uint8_t>(sum / count);
}

} // namespace

Line bar(double part, std::size_t width, Style filled, Charset charset) {
    if (width == 0)
        return {};
    const double cells = std::clamp(part, 0.0, 1.0) * static_cast<double>(width);
    if (charset == Charset::Ascii) {
        auto full = static_cast<std::size_t>(std::lround(cells));
        if (part > 0 && full == 0)
            full = 1; // used a little is not unused
        return {{repeated("#", full), ofGraph(filled)},
                {repeated(".", width - full), ofGraph(style::dim)}};
    }
    auto parts = static_cast<std::size_t>(std::lround(cells * 8));
    if (part > 0 && parts == 0)
        parts = 1;
    std::string text = repeated("\u2588", parts / 8) + std::string(eighths.at(parts % 8));
    const std::size_t taken = (parts + 7) / 8;
    return {{std::move(text), ofGraph(filled)},
            {repeated("\u00b7", width - taken), ofGraph(style::dim)}};
}

std::size_t sparklineWidth(std::size_t room) {
    constexpr std::array<std::size_t, 6> divisors{60, 30, 20, 15, 12, 10};
    const auto found =
        std::find_if(divisors.begin(), divisors.end(), [&](std::size_t d) { return d <= room; });
    return found == divisors.end() ? 0 : *found;
}

Line sparkline(const History& history, std::size_t width, Charset charset) {
    Line line;
    const std::size_t steps = width == 0 ? 0 : historySteps / width;
    for (std::size_t cell = 0; cell < width; ++cell) {
        const std::uint8_t* begin = history.data() + cell * steps;
        const std::uint8_t mean = meanOf(begin, begin + steps);
        Span span{" ", ofGraph(style::plain)};
        if (mean != unknownStep) {
            const std::size_t height = std::min<std::size_t>(mean * blockHeights.size() / 100, 7);
            const auto& marks = charset == Charset::Unicode ? blockHeights : asciiHeights;
            span = {std::string(marks.at(height)),
                    ofGraph(mean == 0 ? style::dim : styleOfUse(mean / 100.0))};
        }
        if (!line.empty() && line.back().style == span.style)
            line.back().text += span.text;
        else
            line.push_back(std::move(span));
    }
    return line;
}

Style styleOfUse(double part) {
    constexpr double busy = 0.9;
    return part >= busy ? style::warning : style::good;
}

} // namespace genv::top
