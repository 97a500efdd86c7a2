// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/cell_text.hpp"

#include "core/base/duration.hpp"
#include "core/base/text.hpp"
#include "core/base/time.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <wchar.h>

#include <algorithm>
#include <ctime>

namespace genv::top {

namespace {

constexpr char32_t lastAscii = 0x7e;

// Removes the first character and returns its width in cells. An invalid byte takes one cell.
std::size_t takeCells(std::string_view& text, Charset charset) {
    const auto character = core::takeCharacter(text);
    if (!character) {
        text.remove_prefix(1);
        return 1;
    }
    if (charset == Charset::Ascii || *character <= lastAscii)
        return 1;
    return static_cast<std::size_t>(std::max(0, wcwidth(static_cast<wchar_t>(*character))));
}

bool isShown(char32_t character, Charset charset) {
    if (!core::isPrintable(character))
        return false;
    if (character <= lastAscii)
        return true;
    return charset == Charset::Unicode && wcwidth(static_cast<wchar_t>(character)) >= 0;
}

// Returns whether every byte is a printable ASCII character, as in most texts.
bool isPlain(std::string_view text) {
    return std::ranges::all_of(text, [](char byte) { return byte >= ' ' && byte <= '~'; });
}

std::string_view mark(Charset charset) {
    return charset == Charset::Unicode ? "\u2026" : "~";
}

} // namespace

std::string safe(std::string_view text, Charset charset) {
    if (isPlain(text))
        return std::string(text);
    std::string result;
    while (!text.empty()) {
        std::string_view rest = text;
        const auto character = core::takeCharacter(rest);
        const std::size_t length = character ? text.size() - rest.size() : 1;
        if (character && isShown(*character, charset)) {
            result += text.substr(0, length);
        } else {
            for (const char byte : text.substr(0, length))
                result += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
        }
        text.remove_prefix(length);
    }
    return result;
}

std::size_t cellsOf(std::string_view text, Charset charset) {
    if (isPlain(text))
        return text.size();
    std::size_t cells = 0;
    while (!text.empty())
        cells += takeCells(text, charset);
    return cells;
}

std::string cut(std::string_view text, std::size_t width, Charset charset) {
    if (cellsOf(text, charset) <= width)
        return std::string(text);
    if (width == 0)
        return {};
    std::string_view rest = text;
    std::size_t cells = 0;
    std::size_t kept = 0;
    while (!rest.empty()) {
        cells += takeCells(rest, charset);
        if (cells + 1 > width)
            break;
        kept = text.size() - rest.size();
    }
    return std::string(text.substr(0, kept)) + std::string(mark(charset));
}

std::string fitted(std::string_view text, std::size_t width, Charset charset, Align align) {
    std::string result = cut(text, width, charset);
    const std::string padding(width - std::min(width, cellsOf(result, charset)), ' ');
    return align == Align::Left ? result + padding : padding + result;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width, Charset charset) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        std::string_view rest = text;
        std::size_t cells = 0;
        std::size_t end = 0;       // of what fits
        std::size_t lastSpace = 0; // in it
        while (!rest.empty()) {
            if (rest.front() == ' ')
                lastSpace = end;
            cells += takeCells(rest, charset);
            if (cells > width)
                break;
            end = text.size() - rest.size();
        }
        if (end < text.size() && text[end] != ' ' && lastSpace > 0)
            end = lastSpace;
        end = std::max<std::size_t>(end, 1);
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
        while (text.starts_with(' '))
            text.remove_prefix(1);
    }
    return lines;
}

std::size_t cellsOf(const Line& line, Charset charset) {
    std::size_t cells = 0;
    for (const Span& span : line)
        cells += cellsOf(span.text, charset);
    return cells;
}

Line cutLine(const Line& line, std::size_t width, Charset charset) {
    if (cellsOf(line, charset) <= width)
        return line;
    Line result;
    std::size_t remaining = width;
    for (const Span& span : line) {
        const std::size_t cells = cellsOf(span.text, charset);
        const bool isLast = &span == &line.back();
        if (cells > remaining || (cells == remaining && !isLast)) {
            // The mark is in the last cell, even if a piece ends there.
            result.push_back({cut(span.text + " ", remaining, charset), span.style});
            break;
        }
        result.push_back(span);
        remaining -= cells;
    }
    return result;
}

std::string shortAmount(std::uint64_t bytes) {
    constexpr double kibi = 1024;
    constexpr double few = 9.95; // what is printed with one digit behind the point
    double amount = static_cast<double>(bytes) / kibi / kibi;
    if (amount < kibi * 0.98)
        return fmt::format("{:.0f}M", amount);
    amount /= kibi;
    if (amount < few)
        return fmt::format("{:.1f}G", amount);
    if (amount < kibi * few)
        return fmt::format("{:.0f}G", amount);
    return fmt::format("{:.0f}T", amount / kibi);
}

std::string usedOf(std::optional<std::uint64_t> used, std::uint64_t total) {
    const std::string all = shortAmount(total);
    if (!used)
        return "?/" + all;
    std::string some = shortAmount(*used);
    if (some.back() == all.back() || *used == 0)
        some.pop_back();
    return some + "/" + all;
}

std::string spanBetween(Time from, Time to) {
    const auto span = std::chrono::ceil<std::chrono::seconds>(to - from);
    return core::formatDuration(std::max(span, std::chrono::seconds{0}));
}

std::string momentOf(Time when, Time now) {
    const std::tm then = core::localTime(when);
    const std::tm today = core::localTime(now);
    const bool isToday = then.tm_year == today.tm_year && then.tm_yday == today.tm_yday;
    return isToday ? fmt::format("{:%H:%M}", then) : fmt::format("{:%d/%m %H:%M}", then);
}

} // namespace genv::top
