// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/screen.hpp"

#define NCURSES_NOMACROS 1
#include <ncurses.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdio>

namespace genv::top {

namespace {

constexpr int escapeDelay = 25; // ms: terminals send the rest of a key's sequence at once

short pairOf(Colour colour) {
    return static_cast<short>(colour); // as the constructor made them
}

void definePairs() {
    constexpr short terminals = -1; // own background
    const auto define = [](Colour colour, short number) {
        init_pair(pairOf(colour), number, terminals);
    };
    define(Colour::Red, COLOR_RED);
    define(Colour::Green, COLOR_GREEN);
    define(Colour::Yellow, COLOR_YELLOW);
    define(Colour::Blue, COLOR_BLUE);
    define(Colour::Magenta, COLOR_MAGENTA);
    define(Colour::Cyan, COLOR_CYAN);
}

attr_t attributesOf(const Style& style, bool isSelected) {
    attr_t attributes = A_NORMAL;
    if (style.isBold)
        attributes |= A_BOLD;
    if (style.isDim)
        attributes |= A_DIM;
    if (style.isReverse || (isSelected && !style.isGraph))
        attributes |= A_REVERSE;
    return attributes;
}

std::optional<RawKey> ofKind(Key::Kind kind) {
    return RawKey{{kind, 0, {}}, {}};
}

std::optional<RawKey> mouseKey(const MEVENT& event) {
    if ((event.bstate & BUTTON4_PRESSED) != 0)
        return ofKind(Key::Kind::Up);
    if ((event.bstate & BUTTON5_PRESSED) != 0)
        return ofKind(Key::Kind::Down);
    if ((event.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED)) == 0)
        return std::nullopt;
    return RawKey{{Key::Kind::ClickAside, 0, {}}, static_cast<std::size_t>(std::max(0, event.y))};
}

std::optional<RawKey> functionKey(wint_t code) {
    switch (code) {
    case KEY_UP:
        return ofKind(Key::Kind::Up);
    case KEY_DOWN:
        return ofKind(Key::Kind::Down);
    case KEY_PPAGE:
        return ofKind(Key::Kind::PageUp);
    case KEY_NPAGE:
        return ofKind(Key::Kind::PageDown);
    case KEY_HOME:
        return ofKind(Key::Kind::Home);
    case KEY_END:
        return ofKind(Key::Kind::End);
    case KEY_ENTER:
        return ofKind(Key::Kind::Enter);
    case KEY_BACKSPACE:
        return ofKind(Key::Kind::Backspace);
    default:
        return std::nullopt;
    }
}

std::optional<RawKey> characterKey(wint_t code) {
    constexpr wint_t escape = 0x1b;
    constexpr wint_t controlU = 0x15;
    constexpr wint_t controlH = 0x08;
    constexpr wint_t deleteBack = 0x7f;
    switch (code) {
    case '\r':
    case '\n':
        return ofKind(Key::Kind::Enter);
    case escape:
        return ofKind(Key::Kind::Escape);
    case controlU:
        return ofKind(Key::Kind::ClearLine);
    case controlH:
    case deleteBack:
        return ofKind(Key::Kind::Backspace);
    default:
        if (code < ' ')
            return std::nullopt;
        return RawKey{{Key::Kind::Character, static_cast<char32_t>(code), {}}, {}};
    }
}

} // namespace

std::unique_ptr<Screen> Screen::open(bool isColoured) {
    struct screen* terminal = newterm(nullptr, stdout, stdin);
    if (terminal == nullptr)
        return nullptr;
    return std::unique_ptr<Screen>(new Screen(terminal, isColoured));
}

Screen::Screen(struct screen* terminal, bool isColoured)
    : terminal_(terminal), isColoured_(isColoured && has_colors()) {
    cbreak();
    noecho();
    nonl(); // Enter is no line feed
    keypad(stdscr, true);
    nodelay(stdscr, true);
    curs_set(0);
    set_escdelay(escapeDelay);
    mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED, nullptr);
    mouseinterval(0);
    if (isColoured_) {
        start_color();
        use_default_colors();
        definePairs();
    }
}

Screen::~Screen() {
    endwin();
    delscreen(terminal_);
}

Size Screen::size() const {
    return {static_cast<std::size_t>(std::max(0, getmaxy(stdscr))),
            static_cast<std::size_t>(std::max(0, getmaxx(stdscr)))};
}

void Screen::resize() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        resizeterm(size.ws_row, size.ws_col);
    clearok(stdscr, true);
    drawn_.clear(); // lines of another width
}

void Screen::draw(const std::vector<PageLine>& lines) {
    if (drawn_.size() != lines.size()) {
        werase(stdscr);
        drawn_.assign(lines.size(), {});
    }
    for (std::size_t row = 0; row < lines.size(); ++row) {
        if (lines[row] == drawn_[row])
            continue;
        drawLine(static_cast<int>(row), lines[row]);
        drawn_[row] = lines[row];
    }
    wrefresh(stdscr);
}

void Screen::drawLine(int row, const PageLine& line) {
    wmove(stdscr, row, 0);
    wclrtoeol(stdscr);
    for (const Span& span : line.spans) {
        wattr_set(stdscr, attributesOf(span.style, line.isSelected),
                  isColoured_ ? pairOf(span.style.colour) : short{0}, nullptr);
        waddnstr(stdscr, span.text.data(), static_cast<int>(span.text.size()));
    }
    if (line.isSelected) { // over the whole width
        wattr_set(stdscr, A_REVERSE, 0, nullptr);
        for (int x = getcurx(stdscr); x < getmaxx(stdscr) && getcury(stdscr) == row; ++x)
            mvwaddch(stdscr, row, x, ' ');
    }
    wattr_set(stdscr, A_NORMAL, 0, nullptr);
}

std::optional<RawKey> Screen::nextKey() {
    wint_t code = 0;
    for (;;) {
        if (!mouseKeys_.empty()) {
            RawKey key = mouseKeys_.front();
            mouseKeys_.pop_front();
            return key;
        }
        const int result = wget_wch(stdscr, &code);
        if (result == ERR)
            return std::nullopt;
        if (result == KEY_CODE_YES && code == KEY_MOUSE) {
            takeMouse();
            continue;
        }
        // Skips other keys.
        if (auto key = result == KEY_CODE_YES ? functionKey(code) : characterKey(code))
            return key;
    }
}

// If another event or a key follows at once, ncurses announces several events with one key, and
// returns the latest one first.
void Screen::takeMouse() {
    for (MEVENT event{}; getmouse(&event) == OK;) {
        if (auto key = mouseKey(event))
            mouseKeys_.push_front(*key);
    }
}

void Screen::suspend() {
    endwin();
}

void Screen::resume() {
    resize();
    wrefresh(stdscr);
}

} // namespace genv::top
