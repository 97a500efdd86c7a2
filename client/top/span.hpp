// SPDX-License-Identifier: LGPL-2.1-or-later
// The parts of rows: pieces of text with a style, for the screen, --once and the tests.
#pragma once

#include <string>
#include <vector>

namespace genv::top {

enum class Colour { Default, Red, Green, Yellow, Blue, Magenta, Cyan };

struct Style {
    Colour colour = Colour::Default;
    bool isBold = false;
    bool isDim = false;
    bool isReverse = false;
    bool isGraph = false; ///< not reversed in a selected row: reversed bars look empty

    friend bool operator==(const Style&, const Style&) = default;
};

namespace style {
inline constexpr Style plain{};
inline constexpr Style bold{Colour::Default, true, false, false};
inline constexpr Style dim{Colour::Default, false, true, false};
inline constexpr Style title{Colour::Default, true, false, true};
inline constexpr Style good{Colour::Green, false, false, false};
inline constexpr Style warning{Colour::Yellow, false, false, false};
inline constexpr Style bad{Colour::Red, true, false, false};
inline constexpr Style memory{Colour::Cyan, false, false, false};
inline constexpr Style accent{Colour::Cyan, true, false, false};
} // namespace style

/// Text that is safe for a terminal, in one style.
struct Span {
    std::string text;
    Style style;

    friend bool operator==(const Span&, const Span&) = default;
};

using Line = std::vector<Span>;

/// The characters that the terminal can show.
enum class Charset { Ascii, Unicode };

} // namespace genv::top
